// The arithmetic of the roofline explorer: convlab/benchmark/roofline_points.py and roofline.py once more, for pages without
// Python. A test in a browser holds it against the library over random layers.

import { letters, tensorBytes } from "./shared/formulas.js";
import { fixed } from "./shared/numbers.js";
import { say } from "./shared/sentences.js";

const ENOUGH = 0.5; // of a roof: who comes so near is held up by it

/** A layer with other channels, filters or taps (0: its own); with other taps it is padded to the same size. */
export function shaped(layer, { batch, C, K, R }) {
  const [channels, taps, deep] = [C || layer.C, R || layer.R, layer.groups > 1];
  const sides = [Math.floor((taps - 1) / 2), Math.floor(taps / 2)];
  return {
    ...layer, N: batch, dtype: "float32", C: channels, R: taps, S: R || layer.S,
    K: deep ? (channels * layer.K) / layer.C : K || layer.K,
    groups: deep ? channels : 1,
    padding: taps === layer.R ? layer.padding : [sides, sides],
  };
}

/** Where a problem stands under a machine's roofs: its intensities, and the ceiling of the algorithm. */
export function standing(machine, algorithm, problem) {
  const sizes = letters(problem);
  const { N, C, K, R, S, P, Q, G } = sizes;
  const { x, w, y } = tensorBytes(problem);
  const flops = 2 * N * P * Q * K * ((R * S * C) / G);
  const [done, moved, once] = [algorithm.flops(sizes), algorithm[machine.backend](sizes), x + w + y];
  const size = x + y + algorithm.weights(sizes) + algorithm.workspace(sizes);
  const home = homeOf(machine, size);
  const [adds, fed] = [machine.flops * (flops / done), home.rate * (flops / moved)];
  return {
    flops, done, moved, once, size, home, adds, fed, saves: flops / done,
    intensity: flops / once, counted: flops / moved, ceiling: Math.min(adds, fed), byAdds: adds <= fed,
  };
}

/** Where a layer itself stands, each number moved once, whatever the algorithm. */
export function bare(machine, problem) {
  const { N, C, K, R, S, P, Q, G } = letters(problem);
  const { x, w, y } = tensorBytes(problem);
  const intensity = (2 * N * P * Q * K * ((R * S * C) / G)) / (x + w + y);
  return { intensity, best: Math.min(machine.flops, homeOf(machine, x + w + y).rate * intensity) };
}

/** The nearest memory that holds so many bytes. */
const homeOf = ({ memories }, size) => memories.find(({ holds }) => holds !== null && size <= holds) ?? memories.at(-1);

export const nameOf = (home) => (/^L\d/.test(home.name) ? `the ${home.name} cache` : `the ${home.name}`);

/** What holds up a run that took so long, in words: as Roofline.bound says it. */
export function bound({ home, done, moved }, machine, seconds) {
  const [adds, fed] = [done / seconds / machine.flops, moved / seconds / home.rate];
  const [share, where] = adds >= fed ? [adds, "the multiply-adds"] : [fed, nameOf(home)];
  const percent = `${fixed(100 * share, 0)}%`;
  if (share < ENOUGH) return say("far", { percent, where });
  const near = say("near", { percent, where });
  return share > 1.005 ? say(adds >= fed ? "adds_above" : "bytes_above", { near }) : near;
}
