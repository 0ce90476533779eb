// A card of the interview: a numeric question, what is said of the answer, and the arithmetic behind it.

import { RULES, SURE } from "python";
import { deskOf } from "./drill_desk.js";
import { answerOf, judged } from "./drill_judge.js";
import { browserMemory } from "./shared/memory.js";
import { clockText } from "./shared/numbers.js";
import { OWN_KEYS, fieldForm, html, live, segments } from "./shared/page.js";
import { placeLink } from "./shared/place_link.js";
import { marked, whole } from "./shared/prose.js";
import { say } from "./shared/sentences.js";

const NAMES = ["bank", "card", "fixed", "typed", "answered", "tally", "trouble", "sure"];

function build(page, model) {
  const once = page.state().fixed;
  const desk = deskOf(page, model);
  const watch = stopwatch(page);
  const parts = { head: html("span", {}), question: html("div", { class: "cl-title", id: `${page.root.id}-question` }) };
  parts.request = html("p", { class: "cl-drill-request", id: `${page.root.id}-request` });
  const form = entry(page, (text) => lock(text), () => passOver());
  const [said, below] = [html("div", {}), html("div", { class: "cl-bar cl-drill-next" })];
  const [note, score] = [html("p", { class: "cl-drill-note", role: "status" }), html("div", { class: "cl-drill-tally" })];
  page.root.append(
    html("div", { class: "cl-bar cl-drill-head" }, html("div", { class: "cl-head" }, parts.head), watch.node),
    parts.question, parts.request, said, form.node, below, note, score);

  let drill = null; // what is asked
  let tries = []; // what was said of it: one, or two
  let over = false;
  let wanted = true; // a card that is not there yet

  function lay(next) {
    [drill, tries, over, wanted] = [next, [], false, !next];
    form.begin(next);
    watch.begin();
    parts.head.textContent = next ? `Drill: ${RULES.kinds[next.kind].title}` : "Drill";
    parts.question.replaceChildren(...(next ? marked(next.question) : []));
    parts.request.textContent = next?.request ?? "";
    said.replaceChildren();
    below.replaceChildren();
  }

  function lock(text) {
    const judgement = judged(drill, text);
    if (judgement.good === null) return judgement.words;
    const { sure } = page.state();
    if (!tries.length && !sure) return say("choose");
    tries.push(judgement);
    if (tries.length === 1) hand({ text, sure: Number(sure) }, judgement);
    over = once || judgement.good || tries.length === 2;
    show();
    return "";
  }

  function passOver() {
    if (!tries.length) hand({ text: null, sure: null }, { value: null, slip: "" });
    over = true;
    show();
  }

  /** Only the first answer counts. */
  function hand(answer, { value, slip, good }) {
    const { kind, seed, name } = drill;
    const seconds = watch.end();
    drill.answered = { ...answer, seconds };
    desk.take({ kind, seed, ...answer, seconds }, { value, slip, right: good === true }, name);
    page.set({ sure: "" });
  }

  function show() {
    form.again(tries.length > 0 && !over);
    const last = tries.at(-1);
    said.replaceChildren(...verdict(drill, tries), ...(over ? arithmetic(drill, last?.good && tries.length === 1) : [html("p", {}, say("try"))]));
    below.replaceChildren(over
      ? html("button", { type: "button", class: "cl-button cl-lock", ...OWN_KEYS, onclick: page.guard(() => go()) }, "Next card")
      : html("button", { type: "button", class: "cl-button", ...OWN_KEYS, onclick: page.guard(passOver) }, "Show the arithmetic"));
    queueMicrotask(() => [...said.querySelectorAll(".cl-verdict")].at(-1).focus({ preventScroll: true }));
  }

  function go() {
    lay(desk.next());
    page.refresh();
    if (drill) queueMicrotask(form.focus);
  }

  return function draw({ trouble }) {
    const gone = drill && !drill.answered && desk.gone(drill);
    if (wanted || gone) lay(desk.next());
    const stands = desk.waiting() ? say("waiting") : drill ? "" : say(once ? "all done" : "laid out");
    note.textContent = [stands, trouble].filter(Boolean).join(" ");
    score.replaceChildren(...tally(desk.tally()));
  };
}

/** The field, how sure, and the buttons. `lock` is given what was typed, and returns what is wrong with it. */
function entry(page, lock, passOver) {
  const complaint = html("div", { class: "cl-complaint", role: "alert", id: `${page.root.id}-complaint` });
  const input = html("input", {
    type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", class: "cl-guess-field cl-drill-field",
    "aria-label": "your answer", "aria-describedby": ["question", "request", "complaint"].map((part) => `${page.root.id}-${part}`).join(" "),
    ...OWN_KEYS,
  });
  const sure = html("span", { class: "cl-field" }, html("span", {}, say("how sure")),
    segments(page, { name: "sure", label: say("how sure"), options: SURE.map((one) => [one, `${one} %`]) }));
  const button = html("button", { type: "submit", class: "cl-button cl-lock", ...OWN_KEYS }, "Lock");
  const pass = html("button", { type: "button", class: "cl-button", ...OWN_KEYS, onclick: page.guard(passOver) }, "Pass over");
  const submit = () => {
    const wrong = lock(input.value);
    complaint.replaceChildren(...marked(wrong));
    const unread = Boolean(wrong) && wrong !== say("choose");
    input.toggleAttribute("aria-invalid", unread);
    if (wrong) (unread ? input : node.querySelector("input[type=radio]")).focus();
  };
  const node = fieldForm(page, submit,
    html("div", { class: "cl-bar" }, html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, "Your answer"), input)),
    html("div", { class: "cl-bar" }, sure, html("span", { class: "cl-field" }, button, pass)),
    complaint);

  function begin(drill) {
    node.hidden = !drill;
    [sure.hidden, pass.hidden, button.textContent, input.value] = [false, false, "Lock", ""];
    complaint.replaceChildren();
    input.removeAttribute("aria-invalid");
  }
  function again(wanted) {
    node.hidden = !wanted;
    [sure.hidden, pass.hidden, button.textContent] = [true, true, "Try once more"];
  }
  return { node, begin, again, focus: () => input.focus() };
}

/** What is said of each answer; of a drill that was passed over, the answer. */
function verdict(drill, tries) {
  const { sure, seconds } = drill.answered;
  if (!tries.length) return [html("div", { class: "cl-verdict", tabindex: -1 }, whole(say("passed", { answer: answerOf(drill) })))];
  return tries.map(({ good, title, words }, i) => html("div", { class: `cl-verdict ${good ? "cl-right" : "cl-wrong"}`, tabindex: -1 },
    html("b", {}, title), " ", marked(words), i ? [] : html("span", { class: "cl-drill-sure" }, " ", whole(say("was sure", { sure, time: clockText(seconds) })))));
}

/** The steps, a line each, and where the course has it. */
function arithmetic(drill, known) {
  const places = RULES.kinds[drill.kind].read.map(({ words, file }) => html("li", {}, placeLink(file, words)));
  return [
    html("div", { class: "cl-head" }, "The arithmetic"),
    html("ol", { class: "cl-drill-steps" }, drill.steps.map((step) => html("li", {}, whole(step)))),
    ...(known ? [] : [html("div", { class: "cl-head" }, "Read again"), html("ul", { class: "cl-drill-places" }, places)]),
  ];
}

/** How many were right, and how sure against how right. */
function tally(found) {
  const [right, of] = Object.values(found).reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
  if (!of) return [html("span", {}, say("no answer yet"))];
  const levels = SURE.filter((sure) => found[sure]).map((sure) => {
    const [right, of] = found[sure];
    return html("span", { class: "cl-drill-level" }, whole(say("level", { sure, right, of })));
  });
  return [html("b", {}, say("tally", { right, of })), ...levels];
}

/** The seconds on this card since it was first in sight, by a clock that nobody sets. Who wants to hides them. */
function stopwatch(page) {
  const memory = browserMemory("convlab drills, no stopwatch");
  const time = html("span", { role: "timer", "aria-label": "time on this card" });
  const button = html("button", { type: "button", class: "cl-button cl-drill-hide", ...OWN_KEYS, onclick: () => {
    memory.keep(!memory.kept());
    time.hidden = !time.hidden;
    tick();
  } });
  time.hidden = memory.kept() === true;
  let [since, stopped, seen] = [null, null, false];
  const seconds = () => (since === null ? 0 : ((stopped ?? performance.now()) - since) / 1000);
  function tick() {
    time.textContent = clockText(seconds());
    button.textContent = time.hidden ? "Show the time" : "Hide the time";
  }
  const sight = new IntersectionObserver((all) => {
    if (!all.some((one) => one.isIntersecting)) return;
    [seen, since] = [true, since ?? performance.now()];
    sight.disconnect();
  });
  sight.observe(page.root);
  const timer = setInterval(tick, 1000);
  page.onEnd(() => [sight.disconnect(), clearInterval(timer)]);
  return {
    node: html("span", { class: "cl-drill-watch" }, time, button),
    begin() {
      [since, stopped] = [seen ? performance.now() : null, null];
      tick();
    },
    end() {
      stopped = performance.now();
      tick();
      return Math.round(10 * seconds()) / 10;
    },
  };
}

export default {
  render: (context) => live(context, { kind: "drill", names: NAMES, build: (page) => build(page, context.model) }),
};
