// A guess: a question, a field for a number and how sure one is; what it is shows when both are locked.

import { LIMITS } from "python";
import { guessAxis } from "./guess_axis.js";
import { judge, misconception, readNumber } from "./guess_verdict.js";
import { OWN_KEYS, fieldForm, html, live, notice, segments } from "./shared/page.js";
import { marked, prose, whole } from "./shared/prose.js";
import { say } from "./shared/sentences.js";
import { listOf } from "./shared/until_heard.js";

const NAMES = ["name", "question", "unit", "sealed", "guesses", "heard", "sure", "trouble"];

function build(page, model) {
  const { name, question, unit, sealed } = page.state();
  const kept = listOf(page, model, { name: "guesses", key: name && `convlab guess: ${name}`, clean });
  const form = entry(page, unit, (guess) => lock(guess));
  const [answer, more] = [html("div", {}), html("div", { class: "cl-again" })];
  const note = notice();
  page.root.append(html("div", { class: "cl-head" }, "Predict"), html("div", { class: "cl-title" }, marked(question)), form.node, answer, note.node, more);
  let [shown, wantsMore] = ["", false];

  const lock = (guess) => {
    const sure = Number(page.state().sure);
    wantsMore = false;
    page.set({ sure: "" });
    kept.add({ guess, sure });
    queueMicrotask(() => answer.querySelector(".cl-verdict")?.focus());
  };
  const again = html("button", { type: "button", class: "cl-button", ...OWN_KEYS, onclick: () => {
    wantsMore = true;
    page.refresh();
    queueMicrotask(form.focus);
  } }, "Guess again");

  return function draw({ guesses, trouble }) {
    const locked = guesses.length > 0;
    form.node.hidden = locked && !wantsMore;
    note.tell(trouble, kept.waiting());
    const now = JSON.stringify([guesses, page.width()]);
    if (!locked || now === shown) return more.replaceChildren(...(locked && !wantsMore ? [again] : []));
    shown = now;
    answer.replaceChildren(...opened(page, { unit, guesses, ...unsealed(sealed) }));
    more.replaceChildren(...(wantsMore ? [] : [again]));
    if (wantsMore) more.before(form.node);
  };
}

/** The field, how sure, and the button; `lock` is called with a number. */
function entry(page, unit, lock) {
  const complaint = html("div", { class: "cl-complaint", role: "alert", id: `${page.root.id}-complaint` });
  const input = html("input", {
    type: "text", inputmode: "decimal", autocomplete: "off", class: "cl-guess-field", "aria-label": `your guess, ${unit}`,
    "aria-describedby": complaint.id, ...OWN_KEYS,
  });
  const submit = () => {
    const { number, trouble } = readNumber(input.value);
    complaint.textContent = trouble ?? (page.state().sure ? "" : "And how sure are you? Choose one of the five.");
    input.toggleAttribute("aria-invalid", Boolean(trouble));
    if (complaint.textContent) return trouble ? input.focus() : node.querySelector("input[type=radio]").focus();
    input.value = "";
    lock(number);
  };
  const node = fieldForm(page, submit,
    html("div", { class: "cl-bar" },
      html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, "Your guess"), input, html("span", {}, unit))),
    html("div", { class: "cl-bar" },
      html("span", { class: "cl-field" }, html("span", {}, say("how sure")),
        segments(page, { name: "sure", label: say("how sure"), options: LIMITS.SURE.map((one) => [one, `${one} %`]) })),
      html("button", { type: "submit", class: "cl-button cl-lock", ...OWN_KEYS }, "Lock")),
    complaint);
  return { node, focus: () => input.focus() };
}

/** What shows once a guess is locked: the first one counts, the last is shown beside it. */
function opened(page, { unit, guesses, because, misconceptions, figure, ...truth }) {
  const [{ guess, sure }, ...later] = guesses;
  const last = later.at(-1);
  const { right, words } = judge(guess, truth, unit);
  const known = misconception((last ?? guesses[0]).guess, truth.actual, misconceptions);
  return [
    html("div", { class: `cl-verdict ${right === null ? "" : right ? "cl-right" : "cl-wrong"}`, tabindex: -1 },
      html("b", {}, whole(words)), " ", whole(say("was sure", { sure })),
      last ? html("div", {}, `Later: ${judge(last.guess, truth, unit).words}`) : []),
    guessAxis(page.width() - 34, { ...truth, guesses: guesses.map((one) => one.guess) }),
    ...(known ? [html("div", { class: "cl-panel cl-misconception" }, prose(known))] : []),
    ...prose(because),
    ...(figure ? [drawn(figure)] : []),
  ];
}

/** The picture comes as HTML that Python wrote, with its words for those who cannot see it. */
function drawn(figure) {
  const place = html("div", { class: "cl-guess-figure" });
  place.innerHTML = figure;
  return place;
}

const unsealed = (sealed) =>
  JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(sealed), (one) => one.charCodeAt(0))));

const clean = (one) => (Number.isFinite(one?.guess) && Number.isFinite(one?.sure) ? [one] : []);

export default {
  render: (context) => live(context, { kind: "guess", names: NAMES, build: (page) => build(page, context.model) }),
};
