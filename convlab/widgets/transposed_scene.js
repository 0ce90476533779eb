// What the transposed window draws of a step. A scene is the state, and all that follows from it.

import { readersOf, windowOf } from "./shared/formulas.js";
import { plural } from "./shared/numbers.js";
import { phaseOf, phaseOfTap, reachOf } from "./transposed.js";
import { isPixel, minus, PHASES, told, within } from "./transposed_words.js";

const sized = (...lines) => ({ width: Math.max(...lines) > 12 ? 26 : 32 }); // cells of a large picture are smaller
const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value)}`;
const lit = (on) => (on ? "cl-lit" : "");
const key = (row, column) => `${row},${column}`;

/** Names along the edges of a picture: of every `by`-th line from the one at `from`, as many as there are. */
const named = (from, size, by = 1) => (i) => (within(i + from, (size - 1) * by + 1) && (i + from) % by === 0 ? (i + from) / by : "");

/** A pixel of x lays its filter onto y. */
export function drawScatter({ x: picture, w: filter, y: output }, scene) {
  const { state, problem, x, w, steps, shown, made, all, products, pointed } = scene;
  const [{ p, q }, top] = [steps[shown], problem.padding[0][0]];
  const readers = pointed ? readersOf(problem, pointed.h, pointed.w) : [];
  const laid = new Map(products.map((one) => [key(one.h, one.w), one]));
  picture.draw({
    rows: state.H, columns: state.W, ...sized(state.H, state.W), rowNames: (i) => i, columnNames: (i) => i, start: { row: p, column: q },
    cell: (i, j) => ({ kind: `cl-input ${lit(readers.some((one) => one.p === i && one.q === j))}`, text: x[i][j] }),
    frames: [{ name: "window", row: p, column: q }],
    label: `Picture of ${state.H} by ${state.W} pixels. ${told(scene)}`,
  });
  drawFilter(filter, scene, { tap: (i, j) => [i, j], used: new Set(readers.map(({ r, s }) => key(r, s))) });
  const [rows, columns] = [[state.H, problem.H], [state.W, problem.W]].map(([lines, size]) => Math.max(reachOf(lines, state), top + size));
  output.draw({
    rows, columns, ...sized(rows, columns), digits: 4, rowNames: named(-top, problem.H), columnNames: named(-top, problem.W),
    start: { row: p * state.stride, column: q * state.stride },
    cell(i, j) {
      const [h, v] = [i - top, j - top];
      const now = laid.get(key(h, v));
      const corner = now ? signed(x[p][q] * w[now.r][now.s]) : "";
      if (!within(h, problem.H) || !within(v, problem.W)) return { kind: "cl-padding", corner };
      const hits = made.hits[h][v];
      const kind = hits < all.hits[h][v] ? "cl-partial" : "cl-output";
      return { kind: hits ? kind : "cl-empty", text: hits ? minus(made.y[h][v]) : "", corner };
    },
    frames: [
      { name: "window", row: p * state.stride, column: q * state.stride, rows: state.taps, columns: state.taps },
      ...(pointed ? [{ name: "followed", row: pointed.h + top, column: pointed.w + top }] : []),
    ],
    label: `Output of ${problem.H} by ${problem.W} pixels, with ${plural(scene.last + 1, "filter")} on it. ${told(scene)}`,
  });
  const cut = rows > problem.H || columns > problem.W ? "; hatched: cut away" : "";
  return {
    origins: { x: 0, by: 1, y: -top },
    words: { x: `input, ${state.H} × ${state.W}`, w: `filter, ${state.taps} × ${state.taps}`, y: `output, ${problem.H} × ${problem.W}${cut}` },
  };
}

/** A window slides over x, or over x with zeros between its pixels, and fills one output after the other. */
export function drawGather({ x: picture, w: filter, y: output }, scene) {
  const { state, problem, view, x, w, steps, shown, made, products, pointed } = scene;
  const [{ h, w: v }, top, last] = [steps[shown], problem.padding[0][0], state.taps - 1];
  const [by, every] = view === "zeros" ? [state.stride, 1] : [1, state.stride]; // cells to a pixel; outputs to a cell
  const first = Math.min(0, Math.ceil((top - last) / every));
  const [rows, columns] = [[state.H, problem.H], [state.W, problem.W]].map(([lines, size]) =>
    Math.max((lines - 1) * by, Math.floor((size - 1 + top) / every)) - first + 1);
  const met = new Map(products.map((one) => [key(one.p, one.q), one]));
  const corner = { row: Math.ceil((h + top - last) / every) - first, column: Math.ceil((v + top - last) / every) - first };
  const spans = [top + h, top + v].map((at) => Math.floor(at / every) - Math.ceil((at - last) / every) + 1);
  const readers = pointed && isPixel(scene, pointed) ? windowOf(problem, pointed.p, pointed.q) : [];
  picture.draw({
    rows, columns, ...sized(rows, columns), start: corner,
    rowNames: named(first, state.H, by), columnNames: named(first, state.W, by),
    cell(i, j) {
      const [p, q] = [(i + first) / by, (j + first) / by];
      const tap = met.get(key(p, q));
      const [kind, text] = isPixel(scene, { p, q }) ? ["cl-input", x[p][q]] : ["cl-padding", 0];
      return { kind: `${kind} ${lit(pointed && pointed.p === p && pointed.q === q)}`, text, corner: tap ? `×${minus(w[tap.r][tap.s])}` : "" };
    },
    frames: [
      { name: "picture", row: -first, column: -first, rows: (state.H - 1) * by + 1, columns: (state.W - 1) * by + 1 },
      ...(products.length ? [{ name: "window", ...corner, rows: spans[0], columns: spans[1] }] : []),
    ],
    label: `Picture of ${state.H} by ${state.W} pixels${view === "zeros" ? " with zeros between them" : ""}. ${told(scene)}`,
  });
  const used = new Set(products.filter((one) => one.by === "pixel").map(({ r, s }) => key(r, s)));
  drawFilter(filter, scene, { tap: (i, j) => [last - i, last - j], used });
  const done = new Set(steps.slice(0, scene.last + 1).map((one) => key(one.h, one.w)));
  output.draw({
    rows: problem.H, columns: problem.W, ...sized(problem.H, problem.W), digits: 4, rowNames: (i) => i, columnNames: (i) => i, start: { row: h, column: v },
    cell(i, j) {
      const reader = lit(readers.some((one) => one.h === i && one.w === j));
      const text = done.has(key(i, j)) ? minus(made.y[i][j]) : "";
      if (view === "zeros") return { kind: `${text ? "cl-output" : "cl-empty"} ${reader}`, text };
      const phase = phaseOf(problem, i, j);
      return { kind: `cl-output cl-phase ${text ? "" : "cl-to-come"} ${reader}`, text: text || PHASES[phase], heat: strength(problem, phase) };
    },
    frames: [{ name: "window", row: h, column: v }],
    label: `Output of ${problem.H} by ${problem.W} pixels, ${done.size} of them made. ${told(scene)}`,
  });
  const zeros = `with zeros ${state.stride > 1 ? "between and " : ""}around`;
  return {
    origins: { x: first, by, y: 0 },
    words: {
      x: view === "zeros" ? `input, ${zeros}` : `input, ${state.H} × ${state.W}`,
      w: view === "zeros" ? "filter, turned 180°" : `filter, turned; part ${PHASES[phaseOf(problem, h, v)]}`,
      y: `output, ${problem.H} × ${problem.W}${view === "zeros" ? "" : "; a letter is a phase"}`,
    },
  };
}

/** The filter as it meets the picture; with sub-filters each tap has the letter of its part. */
function drawFilter(filter, { state, problem, view, w, steps, shown }, { tap, used }) {
  filter.draw({
    rows: state.taps, columns: state.taps, ...sized(state.taps),
    cell(i, j) {
      const [r, s] = tap(i, j);
      const text = minus(w[r][s]);
      if (view !== "subfilters") return { kind: `cl-filter ${lit(used.has(key(r, s)))}`, text };
      const phase = phaseOfTap(problem, r, s);
      const now = phase === phaseOf(problem, steps[shown].h, steps[shown].w);
      return { kind: `cl-filter cl-phase ${lit(now)}`, text, corner: PHASES[phase], heat: strength(problem, phase) };
    },
    label: `Filter of ${state.taps} by ${state.taps} taps${view === "scatter" ? "" : ", turned by 180 degrees"}.`,
  });
}

/** How strong the colour of a phase is, 0 to 1. */
const strength = ({ stride: [down, right] }, phase) => 1 - phase / Math.max(down * right - 1, 1);
