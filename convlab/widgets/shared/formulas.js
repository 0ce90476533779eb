// The sizes of a convolution: the formulas of convlab/problem.py once more, so that a figure moves without Python.
// A problem is { N, H, W, C, K, R, S, stride, padding, dilation, groups, dtype } with pairs as in ConvProblem.
// A test in a browser holds every function here against the library over random problems.

/** Input pixels that one filter spans along an axis, the holes of the dilation included. */
export const extent = (taps, dilation) => dilation * (taps - 1) + 1;

/** Output pixels along an axis: P or Q. Less than 1 where the filter does not fit. */
export const outputSize = (size, [before, after], taps, stride, dilation) =>
  Math.floor((size + before + after - extent(taps, dilation)) / stride) + 1;

/** The padding that makes the output ceil(size / stride) long; the odd pixel comes after. */
export function samePadding(size, taps, stride, dilation) {
  const out = Math.ceil(size / stride);
  const total = Math.max((out - 1) * stride + extent(taps, dilation) - size, 0);
  return [Math.floor(total / 2), total - Math.floor(total / 2)];
}

export const ITEMSIZE = { float16: 2, float32: 4, float64: 8 };

/** Every size by its letter, as ConvProblem.letters. */
export function letters(problem) {
  const { N = 1, H, W, C = 1, K = 1, R, S, stride, padding, dilation, groups = 1, dtype = "float32" } = problem;
  const P = outputSize(H, padding[0], R, stride[0], dilation[0]);
  const Q = outputSize(W, padding[1], S, stride[1], dilation[1]);
  return { N, H, W, C, K, R, S, P, Q, G: groups, b: ITEMSIZE[dtype] };
}

/** Bytes of x, w and y. */
export function tensorBytes(problem) {
  const { N, H, W, C, K, R, S, P, Q, G, b } = letters(problem);
  return { x: N * H * W * C * b, w: ((K * R * S * C) / G) * b, y: N * P * Q * K * b };
}

/** Why these numbers are no convolution, as a sentence; null if they are one. */
export function whyNot(problem) {
  const { groups = 1, C = 1, K = 1, P, Q } = { ...problem, ...letters(problem) };
  for (const [letter, size, what] of [["C", C, "input channels"], ["K", K, "filters"]]) {
    if (size % groups) {
      return `groups = ${groups} does not divide ${letter} = ${size}: every group needs the same number of ${what}.`;
    }
  }
  for (const [axis, out, size, taps, lines] of [[0, P, "H", "R", "rows"], [1, Q, "W", "S", "columns"]]) {
    if (out >= 1) continue;
    const [before, after] = problem.padding[axis];
    const reach = extent(problem[taps], problem.dilation[axis]);
    return `The filter covers ${reach} ${lines} (${taps} = ${problem[taps]}, dilation ${problem.dilation[axis]}), ` +
      `but the padded input has only ${problem[size] + before + after} (${size} = ${problem[size]}, ` +
      `padding ${before} + ${after}). There is no place where it fits: use a smaller filter, or more padding.`;
  }
  return null;
}

/** The taps of output pixel (p, q), row by row: where each reads, and whether that is a pixel or padding. */
export function windowOf(problem, p, q) {
  const { H, W, R, S, stride, padding, dilation } = problem;
  return Array.from({ length: R * S }, (_, i) => {
    const [r, s] = [Math.floor(i / S), i % S];
    const h = p * stride[0] + r * dilation[0] - padding[0][0];
    const w = q * stride[1] + s * dilation[1] - padding[1][0];
    return { r, s, h, w, inside: h >= 0 && h < H && w >= 0 && w < W };
  });
}

/** The output pixels that read input pixel (h, w), each with the tap it reads it through. */
export function readersOf(problem, h, w) {
  const { R, S, stride, padding, dilation } = problem;
  const { P, Q } = letters(problem);
  const found = [];
  for (let r = 0; r < R; r++) {
    for (let s = 0; s < S; s++) {
      const p = (h + padding[0][0] - r * dilation[0]) / stride[0];
      const q = (w + padding[1][0] - s * dilation[1]) / stride[1];
      if (Number.isInteger(p) && Number.isInteger(q) && p >= 0 && p < P && q >= 0 && q < Q) found.push({ p, q, r, s });
    }
  }
  return found;
}

/** The filter as it meets the image: as it is, or, for a true convolution, rotated by 180 degrees. */
export const facing = (filter, flip) => (flip ? filter.toReversed().map((row) => row.toReversed()) : filter);

/** One output pixel of a single-channel convolution. */
export function outputAt(problem, image, filter, p, q) {
  const product = ({ r, s, h, w, inside }) => (inside ? image[h][w] * filter[r][s] : 0);
  return windowOf(problem, p, q).reduce((sum, tap) => sum + product(tap), 0);
}

/** All output pixels of a single-channel convolution, P rows of Q. */
export function convolve(problem, image, filter) {
  const { P, Q } = letters(problem);
  return Array.from({ length: P }, (_, p) => Array.from({ length: Q }, (_, q) => outputAt(problem, image, filter, p, q)));
}

/** The order of taps and channels along a row of the im2row matrix ("RSC") or down a column of im2col ("CRS"). */
export function tapOrder({ R, S, C }, order) {
  const sizes = { R, S, C };
  const [a, b, c] = order;
  const all = [];
  for (let i = 0; i < sizes[a]; i++) {
    for (let j = 0; j < sizes[b]; j++) {
      for (let k = 0; k < sizes[c]; k++) {
        const at = { [a]: i, [b]: j, [c]: k };
        all.push({ r: at.R, s: at.S, c: at.C });
      }
    }
  }
  return all;
}

/** The largest batch whose tensors and workspace fit in `limit` bytes; 0 if not even one image does. */
export function largestBatch(problem, workspace, limit) {
  const needs = (N) => {
    const { x, w, y } = tensorBytes({ ...problem, N });
    return x + w + y + workspace(letters({ ...problem, N }));
  };
  let [fits, tooMany] = [0, 1];
  while (needs(tooMany) <= limit) [fits, tooMany] = [tooMany, 2 * tooMany];
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (needs(middle) <= limit) fits = middle;
    else tooMany = middle;
  }
  return fits;
}
