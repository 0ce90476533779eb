// A guess: a question, a field for a number and how sure one is; what it is shows when both are locked.

import { LIMITS } from "python";
import { guessAxis } from "./guess_axis.js";
import { judge, misconception, readNumber } from "./guess_verdict.js";
import { memoryOf } from "./shared/memory.js";
import { OWN_KEYS, fieldForm, html, live, segments } from "./shared/page.js";
import { marked, prose, whole } from "./shared/prose.js";
import { say } from "./shared/sentences.js";

const NAMES = ["name", "question", "unit", "sealed", "guesses", "sure", "trouble"];

function build(page, memory) {
  const { question, unit, sealed } = page.state();
  const form = entry(page, unit, (guess) => lock(guess));
  const [answer, more] = [html("div", {}), html("div", { class: "cl-again" })];
  page.root.append(html("div", { class: "cl-head" }, "Predict"), html("div", { class: "cl-title" }, marked(question)), form.node, answer, more);
  let [shown, wantsMore] = ["", false];

  const lock = (guess) => {
    const { guesses, sure } = page.state();
    const all = [...guesses, { guess, sure: Number(sure) }];
    wantsMore = false;
    page.set({ guesses: all, sure: "" });
    memory.keep(all);
    queueMicrotask(() => answer.querySelector(".cl-verdict")?.focus());
  };
  const again = html("button", { type: "button", class: "cl-button", ...OWN_KEYS, onclick: () => {
    wantsMore = true;
    page.refresh();
    queueMicrotask(form.focus);
  } }, "Guess again");

  const before = memory.kept();
  if (before.length && !page.state().guesses.length) page.set({ guesses: before });

  return function draw({ guesses, trouble }) {
    const locked = guesses.length > 0;
    form.node.hidden = locked && !wantsMore;
    const now = JSON.stringify([guesses, trouble, page.width()]);
    if (!locked || now === shown) return more.replaceChildren(...(locked && !wantsMore ? [again] : []));
    shown = now;
    answer.replaceChildren(...opened(page, { unit, guesses, trouble, ...unsealed(sealed) }));
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
function opened(page, { unit, guesses, trouble, because, misconceptions, figure, ...truth }) {
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
    ...(trouble ? [html("p", { class: "cl-note" }, trouble)] : []),
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

/** Guesses that have no name are not kept. */
function guessesOf(model) {
  const name = model.get("name");
  const memory = memoryOf(model, `convlab guess: ${name}`);
  const isGuess = (one) => Number.isFinite(one?.guess) && Number.isFinite(one?.sure);
  const list = (kept) => (Array.isArray(kept) ? kept.filter(isGuess) : []);
  return { keep: (guesses) => name && memory.keep(guesses), kept: () => (name ? list(memory.kept()) : []) };
}

export default {
  render: (context) => live(context, { kind: "guess", names: NAMES, build: (page) => build(page, guessesOf(context.model)) }),
};
