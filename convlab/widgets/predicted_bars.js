// The bars of the predicted times: one for each algorithm, cut into its phases, and these into what takes their time.

import { timeText } from "./shared/numbers.js";
import { html, OWN_KEYS } from "./shared/page.js";
import { say } from "./shared/sentences.js";
import { boundOf, sum } from "./prediction.js";
import { MODELS } from "python";

const LONGEST = 8; // a bar ends open where it is so many times as long as the fastest, and longer than half of them

/** The seconds of a run that belong to no phase. */
export const callOf = ({ seconds, parts }) => seconds - sum(parts.map((part) => part.seconds));

/** What a phase's time goes to: to the slower of its halves, and to what is begun. */
export function spent({ computing, moving, beginning }) {
  return [computing >= moving ? ["computing", computing] : ["moving", moving], ["beginning", beginning]];
}

/** A prediction in words. */
export const phasesText = ({ name, seconds, parts }) => say("algorithm", {
  name, time: timeText(seconds),
  phases: parts.map((part) => say("phase", { name: part.name, time: timeText(part.seconds), bound: boundOf(part) })).join(", "),
});

/** A bar for each algorithm. Made once, so that focus stays; put in order as their times change. */
export function barChart(page) {
  const look = (name) => page.set({ look: name });
  const lines = Object.fromEntries(MODELS.map(({ name }) => {
    const input = html("input", { type: "radio", name: `${page.root.id}-look`, value: name, ...OWN_KEYS, onchange: () => look(name) });
    const [length, inside, words] = [html("span", { class: "cl-run" }), html("span", { class: "cl-run-parts" }), html("span", { class: "cl-value-text" })];
    length.append(inside);
    const node = html("div", { class: "cl-line", onclick: () => look(name) },
      html("label", { class: "cl-name" }, input, html("span", {}, name)), html("div", { class: "cl-track" }, length, words));
    return [name, { input, length, inside, words, node }];
  }));
  const rows = html("div", { class: "cl-bars", role: "radiogroup", "aria-label": "look at the phases of" });
  const note = html("div", { class: "cl-note" });
  let order = "";

  const draw = ({ ranked, chosen }, looked, tell) => {
    const most = axisEnd(ranked.map(({ seconds }) => seconds));
    for (const run of ranked) {
      const { input, length, inside, words, node } = lines[run.name];
      input.checked = run === looked;
      node.classList.toggle("cl-chosen", run === looked);
      length.style.setProperty("--share", Math.min(run.seconds / most, 1));
      length.classList.toggle("cl-open", run.seconds > most);
      inside.style.width = `${100 * Math.max(run.seconds / most, 1)}%`;
      const call = callOf(run);
      inside.replaceChildren(piece([["beginning", call]], () => tell(`${run.name}: to start the call takes ${timeText(call)}.`)),
        ...run.parts.map((part) => piece(spent(part), () => tell(partText(run, part)))));
      inside.onpointerleave = () => tell(phasesText(looked));
      words.replaceChildren(timeText(run.seconds), run === chosen ? html("b", {}, " chosen") : "");
    }
    const names = ranked.map(({ name }) => name);
    if (order !== names.join()) rows.replaceChildren(...names.map((name) => lines[name].node));
    order = names.join();
    const longer = ranked.filter(({ seconds }) => seconds > most).length;
    note.textContent = "Computing: multiply-adds. Moving: bytes through caches and memory; of these two only the slower counts, " +
      "the other goes on meanwhile. Beginning: what is started again and again, such as a tile of sums or a run of bytes. " +
      `All bars start at 0 on one linear axis, ${timeText(most)} long.` +
      (longer ? ` The ${longer === 1 ? "last" : `last ${longer}`} would be longer: the end is open.` : "");
  };
  return { node: html("div", { class: "cl-arrays" }, rows, note), draw };
}

/** Where the axis ends: at the longest bar that is not far too long to be shown whole. */
export function axisEnd(seconds) {
  const limit = Math.max(LONGEST * seconds[0], seconds[Math.floor((seconds.length - 1) / 2)]);
  return seconds.filter((each) => each <= limit).at(-1);
}

/** One phase: its pieces side by side, as wide as their nanoseconds say. */
function piece(pieces, enter) {
  const wide = (lengths) => `flex: ${1e9 * sum(lengths)}`;
  return html("span", { class: "cl-pass", onpointerenter: enter, style: wide(pieces.map(([, length]) => length)) },
    pieces.map(([kind, length]) => html("span", { class: `cl-part cl-${kind}`, style: wide([length]) })));
}

function partText({ name }, part) {
  const [[kind, slower]] = spent(part);
  const [other, faster] = kind === "computing" ? ["moving bytes", part.moving] : ["computing", part.computing];
  const meanwhile = faster > 0 ? `, and ${other} goes on meanwhile, ${timeText(faster)}` : "";
  const begun = part.beginning > 0 ? `; what it begins takes ${timeText(part.beginning)} more` : "";
  return `${name}, ${part.name}: ${timeText(slower)} ${kind}${meanwhile}${begun}.`;
}
