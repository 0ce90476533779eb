// The transposed convolution of one channel in three ways: convlab/gradients once more. A test holds them together.
// A problem is the convolution that it is the transpose of: that one's input, H by W, is y here, its output is x.

import { letters, windowOf } from "./shared/formulas.js";

/** The numbers from `from` up to `end`, which is left out. */
export const range = (end, from = 0, by = 1) => Array.from({ length: Math.max(0, Math.ceil((end - from) / by)) }, (_, i) => from + i * by);

/** The lines that the windows cover along an axis; what padding takes away and output padding adds is no part of it. */
export const reachOf = (size, { taps, stride }) => (size - 1) * stride + taps;

/** The problem for a picture of state.H by state.W. */
export function transposeOf(state) {
  const { taps, stride, padding, output_padding: added } = state;
  const size = (lines) => reachOf(lines, state) - 2 * padding + added;
  return {
    H: size(state.H), W: size(state.W), R: taps, S: taps,
    stride: [stride, stride], padding: [[padding, padding], [padding, padding]], dilation: [1, 1],
  };
}

/** Why there is no such output, as a sentence; null if there is one. */
export function whyNoOutput(state) {
  const { H, W, stride, padding, output_padding: added } = state;
  if (added >= stride) {
    const why = stride > 1 ? `It says which of ${stride} sizes of y is meant: with stride ${stride} a convolution makes them all into the same x.`
      : "With stride 1 only one size of y belongs to this x.";
    return `Output padding ${added} must be less than the stride ${stride}. ${why}`;
  }
  const lines = reachOf(Math.min(H, W), state);
  if (lines - 2 * padding + added >= 1) return null;
  return `The filters cover ${lines} ${H <= W ? "rows" : "columns"} of y, and the padding takes ${padding} + ${padding} of them ` +
    "away: nothing is left. Use less padding, or a larger filter.";
}

/** The phase of an output: the outputs of one phase of the stride meet the same taps. */
export const phaseOf = ({ stride }, h, w) => (h % stride[0]) * stride[1] + (w % stride[1]);

/** The phase of the outputs that tap (r, s) reaches. */
export function phaseOfTap({ stride, padding }, r, s) {
  const [down, right] = [[r, 0], [s, 1]].map(([tap, axis]) => (((tap - padding[axis][0]) % stride[axis]) + stride[axis]) % stride[axis]);
  return down * stride[1] + right;
}

/** What the steps go through: pixels of x that scatter, { p, q }, else outputs, { h, w }, by phase with sub-filters. */
export function stepsOf(problem, view) {
  const { P, Q } = letters(problem);
  if (view === "scatter") return range(P).flatMap((p) => range(Q).map((q) => ({ p, q })));
  const outputs = range(problem.H).flatMap((h) => range(problem.W).map((w) => ({ h, w })));
  const phase = ({ h, w }) => (view === "zeros" ? 0 : phaseOf(problem, h, w));
  return outputs.sort((a, b) => phase(a) - phase(b));
}

/**
 * What is multiplied at a step: tap (r, s), output (h, w), the place (p, q) in x, with a fraction where that is a zero
 * between two pixels, and `by` what: "pixel", "inserted" for such a zero, "edge" for one around x or for a product
 * that the padding cuts away.
 */
export function productsOf(problem, view, step) {
  if (view === "scatter") return windowOf(problem, step.p, step.q).map((tap) => ({ ...tap, ...step, by: tap.inside ? "pixel" : "edge" }));
  const { P, Q } = letters(problem);
  const { R, S, stride, padding } = problem;
  const all = range(R).flatMap((r) => range(S).map((s) => {
    const [p, q] = [(step.h + padding[0][0] - r) / stride[0], (step.w + padding[1][0] - s) / stride[1]];
    const inside = p >= 0 && p <= P - 1 && q >= 0 && q <= Q - 1;
    const whole = Number.isInteger(p) && Number.isInteger(q);
    return { ...step, r, s, p, q, whole, by: !inside ? "edge" : whole ? "pixel" : "inserted" };
  }));
  return view === "zeros" ? all : all.filter(({ whole }) => whole);
}

/** What so many of the steps have made: y, how many products are in each of its numbers, and multiplications by kind. */
export function madeBy(problem, view, x, w, count = Infinity) {
  const empty = () => range(problem.H).map(() => Array(problem.W).fill(0));
  const [y, hits, products] = [empty(), empty(), { pixel: 0, inserted: 0, edge: 0 }];
  for (const step of stepsOf(problem, view).slice(0, count)) {
    for (const { h, w: column, p, q, r, s, by } of productsOf(problem, view, step)) {
      products[by]++;
      if (by !== "pixel") continue;
      y[h][column] += x[p][q] * w[r][s];
      hits[h][column]++;
    }
  }
  return { y, hits, products };
}

/** Sizes of y that a convolution with this stride makes into so many lines of x: output padding says which. */
export const sizesOf = (size, state) => range(state.stride).map((added) => reachOf(size, state) - 2 * state.padding + added).filter((lines) => lines > 0);
