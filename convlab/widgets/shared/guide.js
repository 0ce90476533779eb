// The head of a figure: three steps to begin with, a sentence each, and a link to the state that it is in.

import { fragmentOf, fragments, readFragment, stateOf } from "./link.js";
import { html, OWN_KEYS } from "./page.js";

/** Buttons 1 2 3 with the sentence of the one pressed last; without steps, `invitation` stands there. */
export function guide(page, invitation = "") {
  const [steps, opening] = [page.data("guide"), page.data("opening")];
  const words = html("div", { class: "cl-guide-words", "aria-live": "polite" });
  const begin = (number) => {
    page.set(structuredClone({ ...opening, ...steps[number].state }));
    tell(steps[number].words, number);
  };
  const buttons = steps.map((_, i) => html("button", {
    type: "button", class: "cl-step", "aria-label": `step ${i + 1} of ${steps.length}`, ...OWN_KEYS, onclick: page.guard(() => begin(i)),
  }, `${i + 1}`));
  const tell = (text, number = -1) => {
    words.textContent = text;
    buttons.forEach((button, i) => (i === number ? button.setAttribute("aria-current", "step") : button.removeAttribute("aria-current")));
  };
  // The figure opens in the state of its first step, where it has steps.
  tell(steps.length ? steps[0].words : invitation, 0);
  const group = html("div", { class: "cl-guide-steps", role: "group", "aria-label": "steps to begin with" }, buttons);
  followLinks(page, opening, tell);
  return html("div", { class: "cl-guide" }, ...(steps.length ? [group] : []), words, linkButton(page, opening, tell));
}

/** This figure's name on the page: twins that open alike are counted. */
function nameOnPage(page) {
  const all = [...document.querySelectorAll(".convlab")].filter((root) => root.dataset.figure === page.root.dataset.figure);
  const number = all.indexOf(page.root) + 1;
  return page.root.dataset.figure + (number > 1 ? `.${number}` : "");
}

/** A button that puts the present state into the page's address, and copies that. */
function linkButton(page, opening, tell) {
  const state = () => Object.fromEntries(Object.keys(opening).map((name) => [name, page.data(name)]));
  const copy = async () => {
    const fragment = fragmentOf(nameOnPage(page), opening, state());
    takenLinks().add(fragment); // it is what is shown already
    const here = location.href.split(/[?#]/)[0]; // a query may hold JupyterLab's token
    try {
      history.replaceState(history.state, "", fragment);
      await navigator.clipboard.writeText(here + fragment);
      tell("Copied: whoever opens this link finds the figure as it is now.");
    } catch {
      tell(`Copy this address by hand, it leads to the figure as it is now: ${here}${fragment}`);
    }
  };
  return html("button", { type: "button", class: "cl-button cl-link", title: "copy a link to this state", ...OWN_KEYS, onclick: page.guard(copy) }, "Copy link");
}

// Which fragments were followed already, on all of the page: a cell that is run again opens as it is written.
const takenLinks = () => (document.convlabLinks ??= new Set());

/** Take the state that the address has for this figure, now and whenever the address changes. */
function followLinks(page, opening, tell) {
  const follow = page.guard(() => {
    for (const fragment of fragments()) {
      const link = readFragment(fragment);
      if (!link || takenLinks().has(fragment)) continue;
      if (link.name !== nameOnPage(page)) {
        if (link.kind === page.root.dataset.figure.split("-")[0] && !elsewhere(link.name)) tell(OTHER);
        continue;
      }
      takenLinks().add(fragment);
      const { state, trouble } = stateOf(link.pairs, opening, page.data("limits"));
      if (trouble === undefined) page.set(state);
      tell(trouble === undefined ? "A link brought you here: the figure is as it was when the link was copied."
        : `The link says “${trouble}”, which means nothing here. The figure opens as always.`);
      bringIntoSight(page.root);
    }
  });
  follow();
  addEventListener("hashchange", follow);
  page.onEnd(() => removeEventListener("hashchange", follow));
}

const OTHER = "The link in the address is for another figure of this kind, or for an older edition. This one opens as always.";

/** Whether a figure of this name is on the page, or will be. */
const elsewhere = (name) => [...document.querySelectorAll("[data-figure]")].some(({ dataset }) => dataset.figure === name.split(".")[0]);

/** Scroll to the figure, and once more when everything above it has its size. */
function bringIntoSight(root) {
  const scroll = () => root.scrollIntoView({ block: "start" });
  requestAnimationFrame(scroll);
  if (document.readyState !== "complete") addEventListener("load", () => requestAnimationFrame(scroll), { once: true });
}
