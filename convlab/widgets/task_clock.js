// A task against the clock: what is asked, the time that is left, what stops it, and how an answer is handed in.

import { ENDS, STOPPED } from "python";
import { browserMemory } from "./shared/memory.js";
import { OWN_KEYS, html, live, write } from "./shared/page.js";
import { prose } from "./shared/prose.js";
import { say } from "./shared/sentences.js";
import { clockOfPage, clockOfPython, clockWords } from "./task_clocks.js";

const NAMES = ["name", "statement", "minutes", "hand_in", "call", "lines", "used", "stands", "aside", "told"];
const TICK = 500; // milliseconds
const FIVE = 5 * 60; // seconds: only so often the time is read out

function build(page, model) {
  const { name, statement, minutes, hand_in, call, lines, told } = page.state();
  const own = model.alone || !told;
  const clock = own ? clockOfPage(page, browserMemory(`convlab clock: ${name}`)) : clockOfPython(page);
  const button = (onclick) => html("button", { type: "button", class: "cl-button", ...OWN_KEYS, onclick: page.guard(onclick) });
  const next = { "": "begin", running: "pause", [STOPPED]: "resume" };
  const turn = button(() => clock.press(next[clock.read(page.state()).stands]));
  const anew = button(() => clock.press("begin"));
  anew.textContent = "From the start";
  const [time, words, filled] = [html("b", {}), html("span", {}), html("span", {})];
  const bar = html("div", { class: "cl-clock-bar", "aria-hidden": "true" }, filled);
  const [silent, after] = [html("div", { class: "cl-complaint", role: "status" }), html("div", {})];
  const reader = html("div", { class: "cl-unseen", "aria-live": "polite" });
  page.root.append(
    html("div", { class: "cl-head" }, "Against the clock"),
    html("div", { class: "cl-title" }, name),
    ...prose(statement),
    ...(lines ? [html("pre", { tabindex: 0, "aria-label": "the program", ...OWN_KEYS }, lines)] : []),
    html("div", { class: "cl-clock" }, html("span", { role: "timer" }, time, " ", words), html("span", { class: "cl-field" }, anew, turn)),
    bar, silent, ...prose(own ? say("own", { call }) : hand_in), after, reader);
  whileOpen(page, clock);
  const readOut = readerIn(reader, minutes);

  return function draw(state) {
    const read = clock.read(state);
    const ended = ENDS.includes(read.stands);
    const said = clockWords(read, minutes);
    const [first, ...rest] = ended ? ["", said] : said.split(" ");
    write(time, first);
    write(words, rest.join(" "));
    filled.style.width = `${Math.min((100 * read.used) / (60 * minutes), 100)}%`;
    bar.classList.toggle("cl-over", read.used > 60 * minutes);
    page.root.classList.toggle("cl-stale", read.silent !== "");
    write(turn, { "": "Start the clock", running: "Pause" }[read.stands] ?? "Resume");
    turn.hidden = ended;
    turn.disabled = read.silent !== "";
    anew.hidden = !own || !read.stands;
    write(silent, read.silent);
    if (!own && after.dataset.aside !== state.aside) after.replaceChildren(...prose(state.aside));
    after.dataset.aside = state.aside;
    readOut(read, said);
  };
}

/** The clock ticks, and is looked at anew when it comes into sight, and now and then while it stays there. */
function whileOpen(page, clock) {
  let inSight = false;
  const seen = () => inSight && document.visibilityState === "visible";
  const comes = () => seen() && clock.seen();
  const sight = new IntersectionObserver((all) => {
    inSight = all.at(-1).isIntersecting;
    comes();
  });
  const timer = setInterval(() => {
    page.refresh();
    if (seen()) clock.look();
  }, TICK);
  sight.observe(page.root);
  document.addEventListener("visibilitychange", comes);
  page.onEnd(() => {
    clearInterval(timer);
    sight.disconnect();
    document.removeEventListener("visibilitychange", comes);
  });
}

/** What a screen reader hears: that the clock was stopped or runs, each fifth minute that is left, and the end. */
function readerIn(place, minutes) {
  let before = null;
  return ({ stands, used }, said) => {
    const fives = Math.max(Math.ceil((60 * minutes - used) / FIVE), 0);
    if (before && stands !== before.stands) place.textContent = said;
    else if (before && stands === "running" && fives < before.fives) {
      place.textContent = fives ? say("minutes", { minutes: (fives * FIVE) / 60 }) : say("is over");
    }
    const anew = !before || used < before.used - 60; // put right by less, it does not say a minute twice
    before = { stands, used, fives: anew ? fives : Math.min(fives, before.fives) };
  };
}

export default { render: (context) => live(context, { kind: "task", names: NAMES, build: (page) => build(page, context.model) }) };
