// A walk-through: a question, one's own try at it, then the points one by one, model answers, and what comes next.

import { clamp, html, live, notice, OWN_KEYS, segments } from "./shared/page.js";
import { plural } from "./shared/numbers.js";
import { placeLink } from "./shared/place_link.js";
import { marked, prose } from "./shared/prose.js";
import { listOf } from "./shared/until_heard.js";
import { figureStage } from "./walk_figures.js";
import { button, tryPanel } from "./walk_try.js";

const VIEWS = [["try", "Try it"], ["walk", "The walk"], ["answers", "Answers"], ["pitfalls", "Pitfalls"], ["next", "Follow-ups"]];
const LEVELS = [["borderline", "Borderline"], ["hire", "Hire"], ["strong", "Strong hire"]];

function build(page, model) {
  const kept = listOf(page, model, { name: "rounds", key: `convlab walk: ${page.data("name")}`, clean: cleanerOf(page.data("points")) });
  const answers = answersPanel(page);
  const panels = {
    try: tryPanel(page, {
      keep: kept.add,
      goTo(point) {
        page.set({ view: "walk", point });
        queueMicrotask(panels.walk.focus);
      },
    }),
    walk: walkPanel(page, answers),
    answers,
    pitfalls: still(pitfalls(page.data("pitfalls"))),
    next: still(whatComes(page.data("follow_ups"), page.data("read"))),
  };
  const note = notice();
  const tabs = segments(page, { name: "view", label: "parts of this walk-through", options: VIEWS });
  page.root.append(
    html("div", { class: "cl-head" }, `At the whiteboard, ${plural(page.data("minutes"), "minute")}`),
    html("div", { class: "cl-title" }, marked(page.data("question"))),
    tabs,
    ...Object.values(panels).map(({ node }) => node),
    note.node);

  return function draw(state) {
    tabs.hidden = state.rounds.length < state.opens_after;
    note.tell(state.trouble, kept.waiting());
    for (const [name, panel] of Object.entries(panels)) {
      panel.node.hidden = name !== state.view;
      if (name === state.view) panel.draw(state);
    }
  };
}

const still = (parts) => ({ node: html("div", { class: "cl-walk-panel" }, parts), draw: () => {} });

/** One point at a time: what to say, and the picture in the state that the point wants. */
function walkPanel(page, answers) {
  const points = page.data("points");
  const stage = figureStage(page);
  const last = points.length - 1;
  const go = (point) => page.set({ point: clamp(point, 0, last) });
  const keys = { ArrowRight: (at) => at + 1, ArrowLeft: (at) => at - 1, Home: () => 0, End: () => last };
  const press = page.guard((event) => {
    if (!keys[event.key]) return;
    event.preventDefault();
    go(keys[event.key](page.state().point));
    if (dots.includes(document.activeElement)) dots[page.state().point].focus();
  });
  const dots = points.map(({ title }, i) => html("button", {
    type: "button", class: "cl-walk-dot", "aria-label": `point ${i + 1}: ${title}`, title, ...OWN_KEYS, onclick: page.guard(() => go(i)),
  }, `${i + 1}`));
  const back = button(page, "Back", () => go(page.state().point - 1));
  const goOn = () => {
    if (page.state().point < last) return go(page.state().point + 1);
    page.set({ view: "answers" });
    queueMicrotask(answers.focus); // the button is out of sight now
  };
  const next = button(page, "", goOn, { class: "cl-button cl-walk-main" });
  const words = html("div", { class: "cl-walk-words", "aria-live": "polite" });
  let [applied, before] = [-1, -1];

  return {
    node: html("div", { class: "cl-walk-panel" },
      html("div", { class: "cl-walk-nav", role: "group", "aria-label": "points; the arrow keys move", onkeydown: press },
        back, html("div", { class: "cl-walk-dots" }, dots), next),
      words, stage.node),
    focus() {
      dots[page.state().point].focus({ preventScroll: true });
      dots[0].scrollIntoView({ block: "nearest" }); // where a long list stood before, it may be far above
    },
    draw({ point, rounds }) {
      const at = clamp(point, 0, last);
      const said = rounds.at(-1)?.ticked;
      const made = (one) => said?.includes(points[one].title);
      dots.forEach((dot, i) => {
        dot.tabIndex = i === at ? 0 : -1;
        dot.classList.toggle("cl-made", Boolean(made(i)));
        if (i === at) dot.setAttribute("aria-current", "step");
        else dot.removeAttribute("aria-current");
      });
      back.disabled = at === 0;
      next.textContent = at < last ? "Next point" : "Model answers";
      words.replaceChildren(
        html("div", { class: "cl-walk-title" }, `${at + 1}. `, marked(points[at].title)),
        ...prose(points[at].words),
        ...(points[at].must ? [html("p", { class: "cl-note" }, "Without this no answer is a strong one.")] : []),
        ...(said ? [html("div", { class: "cl-walk-said" }, made(at) ? "✓ You said this." : "Not said yet.")] : []));
      const shows = points.findLastIndex(({ figure }, i) => i <= at && figure); // "" leaves what is there
      stage.node.hidden = shows < 0;
      const wants = shows === at ? at !== before : shows !== applied; // not at each redraw: it may be turned by hand
      if (shows >= 0 && wants) stage.show(points[shows].figure, points[shows].state);
      [applied, before] = [shows, at];
    },
  };
}

function answersPanel(page) {
  const text = html("div", { class: "cl-walk-answer", "aria-live": "polite" });
  const chosen = segments(page, { name: "level", label: "level of the answer", options: LEVELS });
  return {
    node: html("div", { class: "cl-walk-panel" }, chosen, text),
    focus: () => chosen.querySelector("input:checked").focus(),
    draw: ({ level }) => text.replaceChildren(...prose(page.data("answers")[level])),
  };
}

const pitfalls = (all) => all.map(({ mistake, better }) => html("div", { class: "cl-walk-pitfall" },
  html("div", {}, html("div", { class: "cl-head" }, "✗ Common mistake"), prose(mistake)),
  html("div", {}, html("div", { class: "cl-head" }, "✓ Better"), prose(better))));

const whatComes = (followUps, read) => [
  ...followUps.map(({ question, answer }) => html("details", { class: "cl-walk-follow" }, html("summary", OWN_KEYS, marked(question)), prose(answer))),
  html("div", { class: "cl-head" }, "Where the course has it"),
  html("ul", { class: "cl-walk-read" }, read.map(({ words, file }) => html("li", {}, placeLink(file, marked(words))))),
];

/** A round of this walk as it is kept: a point that has gone from it since is left out. */
function cleanerOf(points) {
  const titles = points.map(({ title }) => title);
  const isRound = (one) => Array.isArray(one?.ticked) && (one.seconds === null || Number.isFinite(one.seconds));
  return (one) => (isRound(one) ? [{ ticked: titles.filter((title) => one.ticked.includes(title)), seconds: one.seconds }] : []);
}

const NAMES = ["view", "point", "level", "rounds", "heard", "opens_after", "trouble"];
export default {
  render: (context) => live(context, { kind: "walk", names: NAMES, build: (page) => build(page, context.model) }),
};
