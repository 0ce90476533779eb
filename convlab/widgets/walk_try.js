// The reader's own try: a stopwatch, then a list of points to tick, then what was said and what was not.

import { html, OWN_KEYS } from "./shared/page.js";
import { clockText, plural } from "./shared/numbers.js";
import { say } from "./shared/sentences.js";

export const button = (page, text, onclick, more = {}) =>
  html("button", { type: "button", class: "cl-button", ...OWN_KEYS, onclick: page.guard(onclick), ...more }, text);

const main = { class: "cl-button cl-walk-main" };

/** The panel of the try. `keep(round)` is called with what was ticked; `goTo(index)` leads to a point. */
export function tryPanel(page, { keep, goTo }) {
  const node = html("div", {});
  const watch = stopwatch(page);
  const again = () => phase(ready());
  let [before, drawn] = [page.state().rounds.length, ""];

  function phase(parts, focus = "button") {
    node.replaceChildren(...parts);
    queueMicrotask(() => node.querySelector(focus)?.focus());
  }
  const ready = () => [
    html("p", { class: "cl-walk-lead" }, say("try", { minutes: page.data("minutes") })),
    html("div", { class: "cl-bar" },
      button(page, "Start the stopwatch", () => phase(running()), main),
      button(page, "Tick without one", () => phase(list(null), "input"))),
  ];
  function running() {
    watch.start();
    return [
      watch.node,
      html("div", { class: "cl-bar" }, button(page, "Done: what did I say?", () => phase(list(watch.stop()), "input"), main),
        button(page, "Stop", () => (watch.stop(), again()))),
    ];
  }
  const list = (seconds) => checklist(page, seconds, keep);
  const told = (rounds) => outcome(page, rounds, { again, goTo });

  return {
    node,
    draw({ rounds }) {
      const now = JSON.stringify(rounds);
      if (now === drawn) return;
      const first = drawn === "";
      drawn = now;
      if (first) node.replaceChildren(...(rounds.length ? told(rounds) : ready()));
      else if (rounds.length !== before) phase(told(rounds), ".cl-verdict");
      before = rounds.length;
    },
  };
}

/** Minutes and seconds that go up, and a bar for the minutes that there are. */
function stopwatch(page) {
  const [whole, time, length] = [60 * page.data("minutes"), html("div", { class: "cl-walk-time" }), html("div", {})];
  const words = html("div", { class: "cl-walk-left" });
  const node = html("div", { class: "cl-walk-clock", role: "timer", "aria-label": "stopwatch" }, time, html("div", { class: "cl-walk-bar" }, length), words);
  let [begun, timer] = [0, null];
  const seconds = () => (performance.now() - begun) / 1000; // no clock that is set changes it
  const tick = () => {
    const over = seconds() - whole;
    time.textContent = clockText(seconds());
    length.style.width = `${Math.min(100, (100 * seconds()) / whole)}%`;
    words.textContent = over < 0 ? `of ${plural(page.data("minutes"), "minute")}` : `${plural(page.data("minutes"), "minute")} are over: come to the end`;
  };
  const stop = () => (clearInterval(timer), seconds());
  page.onEnd(stop);
  return {
    node,
    stop,
    start() {
      clearInterval(timer);
      begun = performance.now();
      timer = setInterval(tick, 250);
      tick();
    },
  };
}

/** The points to tick, and their sum. */
function checklist(page, seconds, keep) {
  const titles = page.data("points").map(({ title }) => title);
  const sum = html("span", { "aria-live": "polite" });
  const boxes = titles.map(() => html("input", { type: "checkbox", ...OWN_KEYS, onchange: () => count() }));
  const made = () => titles.filter((_, i) => boxes[i].checked);
  const count = () => (sum.textContent = say("made", { made: made().length, points: titles.length }));
  count();
  return [
    html("fieldset", { class: "cl-walk-list" },
      html("legend", {}, "Which of these did you say? In your own words counts."),
      titles.map((title, i) => html("label", { class: "cl-walk-box" }, boxes[i], html("span", {}, title)))),
    html("div", { class: "cl-bar" }, button(page, "That is all", () => keep({ ticked: made(), seconds }), main), sum),
  ];
}

/** What came of the last round; the points that were not made lead to their pictures. */
function outcome(page, rounds, { again, goTo }) {
  const titles = page.data("points").map(({ title }) => title);
  const [{ ticked, seconds }, earlier] = [rounds.at(-1), rounds.slice(0, -1)];
  const missed = titles.flatMap((title, i) => (ticked.includes(title) ? [] : [[title, i]]));
  const sum = (one) => `${say("made", { made: one.ticked.length, points: titles.length })}${one.seconds === null ? "" : ` in ${clockText(one.seconds)}`}`;
  return [
    html("div", { class: `cl-verdict ${missed.length ? "" : "cl-right"}`, tabindex: -1 },
      html("b", {}, sum(rounds.at(-1))), seconds === null ? "." : `, of ${plural(page.data("minutes"), "minute")}.`,
      earlier.length ? html("div", { class: "cl-walk-earlier" }, `Before: ${earlier.slice(-3).map(sum).join("; ")}.`) : []),
    ...(missed.length ? [
      html("div", { class: "cl-walk-lead" }, "Not said yet:"),
      html("ul", { class: "cl-walk-missed" }, missed.map(([title, i]) => html("li", {}, button(page, title, () => goTo(i), { class: "cl-walk-jump" })))),
    ] : []),
    html("div", { class: "cl-bar" }, button(page, "Walk through it", () => goTo(missed.length ? missed[0][1] : 0), main), button(page, "Try again", again)),
  ];
}
