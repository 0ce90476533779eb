// What the transposed window says of a step, of what is multiplied, and of the size of y.

import { readersOf, windowOf } from "./shared/formulas.js";
import { digits, plural } from "./shared/numbers.js";
import { chip, html } from "./shared/page.js";
import { say } from "./shared/sentences.js";
import { phaseOf, sizesOf } from "./transposed.js";

export const PHASES = "ABCDEFGHI";
const LONGEST_SUM = 4; // products that are written out
const KINDS = { pixel: "by a pixel", inserted: "by a zero between pixels", edge: "by a zero around x" };

export const minus = (value) => String(value).replace("-", "−");
export const within = (value, size) => value >= 0 && value < size;
export const totalOf = (products) => Object.values(products).reduce((all, count) => all + count, 0);

/** Whether a place in x is a pixel, and no zero that was put in. */
export const isPixel = ({ state }, { p, q }) => within(p, state.H) && within(q, state.W) && Number.isInteger(p) && Number.isInteger(q);

const factor = (value) => (value < 0 ? `(${minus(value)})` : value);

/** The sum of one output: its products by pixels, written out where they are few. */
function sumText({ x, w, all }, products, { h, w: v }) {
  if (!products.length) return `nothing reaches it, y[${h}, ${v}] = 0`;
  if (products.length > LONGEST_SUM) return `y[${h}, ${v}] = ${minus(all.y[h][v])}`;
  const terms = products.toReversed().map(({ p, q, r, s }) => `${x[p][q]}·${factor(w[r][s])}`);
  return `y[${h}, ${v}] = ${terms.join(" + ")} = ${minus(all.y[h][v])}`;
}

/** One sentence on what is pointed at, or on the step. */
export function told(scene) {
  const { problem, view, x, steps, shown, products, pointed } = scene;
  if (pointed && "h" in pointed) {
    const outside = !within(pointed.h, problem.H) || !within(pointed.w, problem.W);
    if (outside) return "This place is no output: the padding cuts away what falls here.";
    const readers = readersOf(problem, pointed.h, pointed.w);
    return `${plural(readers.length, "filter")} on this output: ${sumText(scene, readers, pointed)}.`;
  }
  if (pointed) {
    if (!isPixel(scene, pointed)) return "This zero was put in: whatever it is multiplied by, nothing comes of it.";
    const reached = windowOf(problem, pointed.p, pointed.q).filter(({ inside }) => inside).length;
    return `x[${pointed.p}, ${pointed.q}] = ${x[pointed.p][pointed.q]} is in ${plural(reached, "output")}.`;
  }
  const by = (kind) => products.filter((one) => one.by === kind);
  const useful = by("pixel");
  if (view === "scatter") {
    const { p, q } = steps[shown];
    const cut = by("edge").length;
    const kept = useful.length ? `${plural(useful.length, "product")}, each added to an output of its own` : "no product falls on an output";
    return `x[${p}, ${q}] = ${x[p][q]} times the filter: ${kept}${cut ? `; the padding cuts away ${cut}` : ""}.`;
  }
  const phase = PHASES[phaseOf(problem, steps[shown].h, steps[shown].w)];
  const met = view === "zeros" ? plural(products.length, "product")
    : `Phase ${phase} meets ${plural(products.length, "tap")} of ${problem.R * problem.S}`;
  const kinds = Object.entries(KINDS).filter(([kind]) => by(kind).length || (kind === "pixel" && products.length));
  const split = kinds.map(([kind, words]) => `${by(kind).length} ${words}`).join(", ");
  return `${met}${split && `: ${split}`}; ${sumText(scene, useful, steps[shown])}.`;
}

/** Multiplications by their kind, a number each. */
export const countsOf = (products, view) => Object.entries(products).map(([kind, count]) => html("div", { class: "cl-count" },
  html("b", { class: `cl-chip cl-by-${kind}` }, digits(count)),
  html("span", {}, kind === "edge" && view === "scatter" ? "cut away by the padding" : KINDS[kind])));

/** A bar of all multiplications of one way. */
export function barOf(way, products, { chosen, most }) {
  const parts = Object.entries(products).map(([kind, count]) =>
    html("span", { class: `cl-pace-length cl-by-${kind}`, style: `width: ${(100 * count) / most}%` }));
  return html("div", { class: `cl-pace ${chosen ? "cl-chosen" : ""}` }, html("span", {}, way),
    html("span", { class: "cl-pace-track cl-parts" }, parts), html("b", {}, digits(totalOf(products))));
}

/** Why the overlaps are as they are. */
export function lessonOf({ taps, stride }, hits) {
  if (taps < stride) {
    const outputs = hits.flat();
    return say("holes", { none: outputs.filter((count) => !count).length, outputs: plural(outputs.length, "output") });
  }
  const [few, many] = [Math.floor(taps / stride), Math.ceil(taps / stride)];
  if (few < many) return say("checkerboard", { taps, stride, counts: `${few * few}, ${few * many} or ${many * many}` });
  return say(stride === 1 ? "one" : "even", { taps, stride, each: plural(few * few, "tap") });
}

/** The size of y: with the letters, then with the numbers, and what else this stride makes into x. */
export function sizeLines(state, problem) {
  const { H, stride, padding, taps, output_padding: added } = state;
  const line = (size, step, pad, filter, more) => ["(", chip("input", size), " − 1)·", step, " − 2·", chip("padding", pad), " + ", chip("filter", filter), " + ", more];
  const others = sizesOf(H, state);
  return [
    html("div", { class: "cl-head" }, "how large is y?"),
    html("div", { class: "cl-formula" }, chip("output", "P"), " = ", line("H", "stride", "padding", "R", "output padding")),
    html("div", { class: "cl-formula" }, chip("output", "P"), " = ", line(H, stride, padding, taps, added), " = ", html("b", {}, problem.H)),
    ...(others.length > 1 ? [html("div", { class: "cl-note" }, `With stride ${stride} a convolution makes ${H} rows out of ` +
      `${others.slice(0, -1).join(", ")} or ${others.at(-1)}: output padding says which y is meant.`)] : []),
  ];
}
