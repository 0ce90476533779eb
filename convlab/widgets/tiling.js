// What tile sizes cost: convlab/inspect/tiling.py and occupancy.py once more. A test holds them together.

import { letters } from "./shared/formulas.js";
import { say } from "./shared/sentences.js";

const WORD = 4;
const WARP = 32;

export const over = (count, size) => Math.ceil(count / size);
const roundUp = (number, unit) => over(number, unit) * unit;

/** What a tiling { block_m, ..., buffers, split_k } of numbers takes; `limits` are the constants of tiling.py. */
export function tilingOf(tiling, limits) {
  const { block_m, block_n, block_k, thread_m, thread_n, buffers } = tiling;
  const threads = Math.floor(block_m / thread_m) * Math.floor(block_n / thread_n);
  const staged = threads ? over((block_m + block_n) * block_k, threads) : 0;
  const registers = thread_m * thread_n + thread_m + thread_n + staged + limits.others;
  const gap = roundUp(Math.max(1, Math.floor(WARP / block_k)), 4);
  const shared = buffers * block_k * (block_m + gap + block_n) * WORD;
  const intensity = (m, n) => (2 * m * n) / ((m + n) * WORD);
  const found = {
    threads, staged, registers, shared,
    blockIntensity: intensity(block_m, block_n), threadIntensity: intensity(thread_m, thread_n),
  };
  return { ...found, trouble: troubleOf(tiling, found, limits) };
}

function troubleOf({ block_m, block_n, thread_m, thread_n }, { threads, registers, shared }, limits) {
  if (block_m % thread_m || block_n % thread_n) return say("tile");
  if (threads % WARP) return say("warp", { number: threads, most: WARP });
  const wanted = { threads, shared, registers };
  const short = Object.keys(wanted).find((name) => wanted[name] > limits[name]);
  return short ? say(short, { number: wanted[short], most: limits[short] }) : null;
}

/** How many blocks a multiprocessor holds by each of its limits, and by the tightest. */
export function occupancyOf({ threads, registers, shared }, whole) {
  const warps = over(threads, WARP);
  const warpRegisters = roundUp(Math.max(registers, 1) * WARP, whole.registerUnit);
  const fit = Math.floor(Math.floor(whole.registers / whole.quarters) / warpRegisters) * whole.quarters;
  const launches = warpRegisters * roundUp(warps, whole.quarters) <= whole.registers;
  const limits = {
    "threads": Math.floor(whole.threads / (warps * WARP)),
    "blocks": whole.blocks,
    "registers": launches ? Math.floor(fit / warps) : 0,
    "shared memory": Math.floor(whole.sharedBytes / roundUp(shared + whole.sharedReserved, whole.sharedUnit)),
  };
  const blocks = Math.min(...Object.values(limits));
  const limitedBy = Object.keys(limits).find((name) => limits[name] === blocks);
  return { limits, blocks, limitedBy, warps: blocks * warps, share: (blocks * warps * WARP) / whole.threads };
}

/** How often a tap falls on a pixel of the picture, over all outputs. */
export function pixelsRead(problem) {
  const { N, P, Q } = letters(problem);
  const hits = (outputs, taps, size, axis) => {
    let count = 0;
    for (let output = 0; output < outputs; output++) {
      for (let tap = 0; tap < taps; tap++) {
        const at = output * problem.stride[axis] + tap * problem.dilation[axis] - problem.padding[axis][0];
        if (at >= 0 && at < size) count++;
      }
    }
    return count;
  };
  return N * hits(P, problem.R, problem.H, 0) * hits(Q, problem.S, problem.W, 1);
}

/** Rows, columns and depth of the matrix product of one group. */
export function gemmOf(problem) {
  const { N, P, Q, K, R, S, C, G } = letters(problem);
  return { m: N * P * Q, n: K / G, k: (R * S * C) / G, G, C };
}

/** The bytes that all threads ask of memory, of x, w and y. */
export function trafficOf(problem, { block_m, block_n, split_k }) {
  const { m, n, k, G, C } = gemmOf(problem);
  return {
    x: WORD * pixelsRead(problem) * C * over(n, block_n),
    w: WORD * G * n * k * over(m, block_m),
    y: WORD * G * m * n * (split_k === 1 ? 1 : 2 * split_k + 1),
  };
}

/** The blocks of a layer, and the share of outputs that tiles hanging over the edge compute for nothing. */
export function gridOf(problem, { block_m, block_n, split_k }) {
  const { m, n, G } = gemmOf(problem);
  const [rows, cols] = [over(m, block_m), over(n, block_n)];
  return { rows, cols, blocks: G * rows * cols * split_k, wasted: 1 - (m * n) / (rows * block_m * cols * block_n) };
}
