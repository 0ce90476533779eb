// The indirection buffer: convlab/algorithms/indirect/__init__.py once more. A test holds the two together.

import { letters, windowOf } from "./shared/formulas.js";

/** Distances from the start of an image, [tile][tap][row]; -1 on padding. Rows past the last pixel repeat it. */
export function bufferOf(problem, rows) {
  const { P, Q } = letters(problem);
  const last = P * Q - 1;
  return Array.from({ length: Math.ceil(P * Q / rows) }, (_, tile) => {
    const windows = Array.from({ length: rows }, (_, row) => {
      const m = Math.min(tile * rows + row, last);
      return windowOf(problem, Math.floor(m / Q), m % Q);
    });
    return Array.from({ length: problem.R * problem.S }, (_, t) => windows.map((taps) => {
      const { h, w, inside } = taps[t];
      return inside ? (h * problem.W + w) * problem.C : -1;
    }));
  });
}

/** What a change of N, H or W makes anew, "nothing", "part" or "all", and how many tiles it keeps. */
export function resizeOf(before, after, rows) {
  const [old, now] = [letters(before), letters(after)];
  const tiles = Math.ceil(now.P * now.Q / rows);
  if (old.H === now.H && old.W === now.W) return { word: "nothing", kept: tiles };
  const reach = (after.R - 1) * after.dilation[0] - after.padding[0][0];
  const above = Math.max(0, -Math.floor((reach - Math.min(old.H, now.H)) / after.stride[0]));
  const kept = old.W === now.W ? Math.floor(Math.min(above, old.P, now.P) * now.Q / rows) : 0;
  const word = kept === tiles ? "nothing" : "part"; // a smaller buffer is the beginning of the larger one
  return { word: kept ? word : "all", kept };
}
