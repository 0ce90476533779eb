// Tile by tile: implicit GEMM walks over a matrix that is never stored; a block of it is gathered, used, forgotten.

import { letters, whyNot } from "./shared/formulas.js";
import { bytesText, digits, fixed, plural, ratioText } from "./shared/numbers.js";
import { chip, clamp, html, live, more, numberBox, player, segments, sentence, slider, svg } from "./shared/page.js";
import { Grid } from "./shared/grid.js";
import { guide } from "./shared/guide.js";

const problemOf = ({ H, W, C, K, R, S, stride, padding }) => ({
  ...{ N: 1, H, W, C, K, R, S, dilation: [1, 1] },
  ...{ stride: [stride, stride], padding: [[padding, padding], [padding, padding]] },
});

/** Cell (m, k) of the matrix A: the number of x that it reads ({ h, w, c, at }), at -1 on padding. One image. */
export function sourceOf(problem, m, k) {
  const { H, W, C, S, Q, stride, padding, dilation } = { ...problem, ...letters(problem) };
  const [p, q, tap, c] = [Math.floor(m / Q), m % Q, Math.floor(k / C), k % C];
  const [r, s] = [Math.floor(tap / S), tap % S];
  const h = p * stride[0] - padding[0][0] + r * dilation[0];
  const w = q * stride[1] - padding[1][0] + s * dilation[1];
  const inside = h >= 0 && h < H && w >= 0 && w < W;
  return { p, q, r, s, c, h, w, at: inside ? (h * W + w) * C + c : -1 };
}

/** The three distances of the walk: to the next tap, to the next row of taps, to the next block of channels. */
export function deltasOf(problem, block) {
  const { W, C, R, S, dilation } = problem;
  const [step, row] = [C * dilation[1], W * C * dilation[0]];
  const back = (S - 1) * step;
  return { next_s: step, next_r: row - back, next_c: block - (R - 1) * row - back };
}

/** The pieces of k: [start, end, the delta that leads there]. */
function pieces(problem, block, walks) {
  const { C, R, S } = problem;
  const range = (n, step = 1) => Array.from({ length: Math.ceil(n / step) }, (_, i) => i * step);
  if (!walks) return range(R * S * C, block).map((k) => [k, Math.min(k + block, R * S * C), ""]);
  const move = (c, r, s) => (s > 0 ? "next_s" : r > 0 ? "next_r" : c > 0 ? "next_c" : "");
  const taps = range(R).flatMap((r) => range(S).map((s) => [r, s]));
  return range(C, block).flatMap((c) =>
    taps.map(([r, s]) => [(r * S + s) * C + c, (r * S + s) * C + Math.min(c + block, C), move(c, r, s)]));
}

/** The blocks in the order in which they are visited: [m0, m1, n0, n1, k0, k1, the delta that leads there]. */
export function blocksOf(problem, [blockM, blockN, blockK], walks) {
  const { P, Q, K } = { ...problem, ...letters(problem) };
  const cut = (size, block) =>
    Array.from({ length: Math.ceil(size / block) }, (_, i) => [i * block, Math.min((i + 1) * block, size)]);
  const sums = pieces(problem, blockK, walks);
  return cut(P * Q, blockM).flatMap((m) => cut(K, blockN).flatMap((n) => sums.map((k) => [...m, ...n, ...k])));
}

/** What a block touches, as convlab.inspect.block_footprint.count. */
export function countsOf(problem, [m0, m1, n0, n1, k0, k1]) {
  const reads = new Map();
  let padding = 0;
  for (let m = m0; m < m1; m++) {
    for (let k = k0; k < k1; k++) {
      const { at } = sourceOf(problem, m, k);
      if (at < 0) padding++;
      else reads.set(at, (reads.get(at) ?? 0) + 1);
    }
  }
  const [cells, weights] = [(m1 - m0) * (k1 - k0), (n1 - n0) * (k1 - k0)];
  const bytes = (reads.size + weights) * letters(problem).b;
  return { cells, padding, numbers: reads.size, flops: 2 * (m1 - m0) * weights, bytes, reads };
}

function build(page) {
  let pixel = null; // the place in x under the pointer
  let cell = null; // { m, k } under the pointer in A
  let inSight = "";
  const walks = (state) => state.algorithm === "precomputed_gemm";
  const listed = (state) => {
    const problem = problemOf(state);
    return whyNot(problem) ? [] : blocksOf(problem, [state.block_m, state.block_n, state.block_k], walks(state));
  };
  const image = new Grid(page, {
    role: "input pixels",
    look(at) {
      const { C, W, H, padding } = page.state();
      const [h, w] = at ? [at.row - padding, Math.floor(at.column / C) - padding] : [-1, -1];
      pixel = h >= 0 && h < H && w >= 0 && w < W ? (h * W + w) * C + (at.column % C) : null;
      page.refresh();
    },
  });
  const matrix = new Grid(page, {
    role: "matrix that is never stored",
    look(at) { cell = at && { m: at.row, k: at.column }; page.refresh(); },
    choose(at) {
      const all = listed(page.state());
      const found = at ? all.findIndex(([m0, m1, , , k0, k1]) =>
        at.row >= m0 && at.row < m1 && at.column >= k0 && at.column < k1) : -1;
      if (found >= 0) page.set({ step: found });
    },
  });
  const output = new Grid(page, { role: "output matrix" });
  const arrows = svg("g", { class: "cl-arrows" });
  const tip = `${page.root.id}-tip`;
  const head = svg("marker", { id: tip, viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 5, markerHeight: 5, orient: "auto" },
    svg("path", { d: "M0,0 L8,4 L0,8 z", class: "cl-arrow-head" }));
  image.node.append(svg("defs", {}, head), arrows);

  const captions = { image: html("span"), matrix: html("span"), output: html("span") };
  const story = sentence(page);
  const trouble = html("div", { class: "cl-trouble", role: "status" });
  const counts = html("div", { class: "cl-counts" });
  const lesson = html("div", { class: "cl-lesson" });
  const figure = (grid, role, name, caption, extra = "") => html("div", { class: `cl-figure ${extra}` },
    html("div", { class: "cl-caption" }, chip(role, name), " ", caption), grid.box);
  const panel = html("div", { class: "cl-panel cl-gone" }, counts, lesson);
  const stage = html("div", { class: "cl-stage cl-top" },
    html("div", { class: "cl-left" }, figure(image, "input", "x", captions.image), panel),
    figure(matrix, "workspace", "A", captions.matrix, "cl-gone"),
    figure(output, "output", "y", captions.output, "cl-gone cl-whole"), trouble);
  const title = html("div", { class: "cl-title" });
  const scrolls = [matrix, output].map((grid) => grid.box.firstChild);
  const knob = (name) =>
    html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, name), numberBox(page, { name, label: name }));
  const most = (state, name) => {
    const { P, Q } = letters(problemOf(state));
    const size = { block_m: P * Q, block_n: state.K, block_k: walks(state) ? state.C : state.R * state.S * state.C }[name];
    return clamp(size, 1, page.limits(name)[1]);
  };
  const block = (name) => {
    const value = html("b");
    const [read, write] = [(state) => Math.min(state[name], most(state, name)) - 1, (at) => ({ [name]: at + 1, step: 0 })];
    page.onUpdate((state) => (value.textContent = read(state) + 1));
    return html("span", { class: "cl-field cl-block" }, html("span", { class: "cl-knob" }, name),
      slider(page, { name, label: name, count: (state) => most(state, name), say: (state) => `${read(state) + 1}`, at: { read, write } }),
      value);
  };

  page.root.append(
    title,
    guide(page),
    stage,
    player(page, {
      name: "step", label: "block", count: (state) => listed(state).length, pause: 700,
      say(state) {
        const { length } = listed(state);
        return length ? `block ${Math.min(state.step + 1, length)} of ${length}` : "no block";
      },
    }),
    story,
    html("div", { class: "cl-bar" }, ["block_m", "block_k"].map(block)),
    more(
      html("div", { class: "cl-bar" }, block("block_n"), segments(page, {
        name: "algorithm", label: "algorithm", write: (value) => ({ algorithm: value, step: 0 }),
        options: [["implicit_gemm", "index map: implicit_gemm"], ["precomputed_gemm", "three deltas: precomputed_gemm"]],
      })),
      html("div", { class: "cl-bar cl-tight" }, ["H", "W", "C", "K", "R", "S", "stride", "padding"].map(knob))));

  return function draw(state) {
    const problem = problemOf(state);
    const { H, W, C, K, R, S, P, Q } = { ...problem, ...letters(problem) };
    const [pad, broken, all] = [state.padding, whyNot(problem), listed(state)];
    title.textContent = walks(state)
      ? "The same matrix, walked by three deltas: no division on the way"
      : "A matrix product whose left matrix is never stored";
    stage.classList.toggle("cl-broken", Boolean(broken));
    trouble.textContent = broken ?? "";
    const step = Math.min(state.step, all.length - 1);
    const now = all[step] ?? [0, 0, 0, 0, 0, 0, ""];
    const [m0, m1, n0, n1, k0, k1, move] = now;
    const found = countsOf(problem, now);
    const source = cell && !broken ? sourceOf(problem, cell.m, cell.k) : null;
    const inBlock = (m, k) => m >= m0 && m < m1 && k >= k0 && k < k1;
    const from = move && all[step - 1];

    if (!broken) story.replaceChildren(...tell({ problem, state, found, now, source, cell, pixel, inBlock }));
    image.draw({
      rows: H + 2 * pad, columns: (W + 2 * pad) * C, width: C === 1 ? 30 : C < 4 ? 22 : 17, height: 30, group: C,
      rowNames: (i) => (i >= pad && i < pad + H ? i - pad : ""),
      columnNames: (i) => (i % C === 0 && i / C >= pad && i / C < pad + W ? i / C - pad : ""),
      cell(i, j) {
        const [h, w, c] = [i - pad, Math.floor(j / C) - pad, j % C];
        const inside = h >= 0 && h < H && w >= 0 && w < W;
        const same = source && source.h === h && source.w === w && source.c === c ? "cl-lit" : "";
        if (!inside) return { kind: `cl-padding ${same}`, text: "" };
        const at = (h * W + w) * C + c;
        const times = found.reads.get(at) ?? 0;
        if (!times) return { kind: `cl-input cl-unread ${same}`, text: at };
        return { kind: `cl-input ${same || (at === pixel ? "cl-lit" : "")}`, text: at, corner: times > 1 ? `${times}×` : "" };
      },
      label: `Image of ${H} by ${W} pixels and ${plural(C, "channel")}. ${broken ?? story.textContent}`,
    });
    arrows.replaceChildren(...(from && !broken ? steps(image, problem, from, now, pad, tip) : []));
    captions.image.textContent = `${H} × ${W} × ${C}; bright: read by this block`;
    if (broken) {
      for (const part of [story, counts, lesson]) part.replaceChildren();
      return;
    }

    const [M, taps] = [P * Q, R * S * C];
    const largest = taps <= 18 ? 22 : taps <= 27 ? 18 : 15;
    const room = Math.floor((page.width() - image.wide - 24 * K - 126) / taps); // for a cell, all three in a line
    const inLine = room >= 12; // then the picture may shrink a little
    const unit = inLine ? clamp(room, 15, largest) : largest;
    const high = Math.min(unit, 20);
    const names = { rowNames: (i) => (i === 0 || i === m0 || i === m1 - 1 || i === M - 1 ? i : "") };
    matrix.draw({
      ...{ rows: M, columns: taps, width: unit, height: high, group: S * C, start: { row: m0, column: k0 }, ...names },
      cell(m, k) {
        if (!inBlock(m, k)) return { kind: `cl-ghost ${cell && cell.m === m && cell.k === k ? "cl-lit" : ""}` };
        const { at } = sourceOf(problem, m, k);
        const chosen = (pixel !== null && at === pixel) || (cell && cell.m === m && cell.k === k) ? "cl-lit" : "";
        return at < 0 ? { kind: `cl-padding ${chosen}`, text: 0 } : { kind: `cl-workspace ${chosen}`, text: at };
      },
      frames: [{ name: "window", row: m0, column: k0, rows: m1 - m0, columns: k1 - k0 }],
      label: `Matrix A of ${plural(M, "row")} and ${plural(taps, "column")}, never stored. ${story.textContent}`,
    });
    const share = pieces(problem, state.block_k, walks(state)).length;
    output.draw({
      ...{ rows: M, columns: K, width: 24, height: high, start: { row: m0, column: n0 }, ...names },
      digits: `${share}/${share}`.length,
      cell(m, n) {
        const before = all.findIndex(([a, b, c, d]) => m >= a && m < b && n >= c && n < d);
        const done = clamp(step + 1 - before, 0, share);
        if (!done) return { kind: "cl-ghost" };
        if (done === share) return { kind: "cl-output" };
        // How far the block is stands in it once: its cells are too narrow to hold it each.
        return { kind: "cl-output cl-partial", text: m === m0 && n === n0 ? `${done}/${share}` : "" };
      },
      frames: [{ name: "window", row: m0, column: n0, rows: m1 - m0, columns: n1 - n0 }],
      label: `Output of ${M} pixels and ${plural(K, "filter")}; rows ${m0} to ${m1 - 1}, filters ${n0} to ${n1 - 1} are summed.`,
    });
    stage.style.flexWrap = inLine ? "nowrap" : "wrap";
    const sight = `${matrix.shape} ${m0} ${k0}`;
    if (!cell && sight !== inSight) for (const scroll of scrolls) scroll.scrollTo({ top: m0 * high - 150 });
    inSight = sight;
    captions.matrix.textContent = `${M} × ${taps}, never stored: ${digits(M * taps)} cells`;
    captions.output.textContent = `${M} × ${K}`;
    counts.replaceChildren(...count(problem, found, walks(state)));
    lesson.textContent = explain(problem, found, walks(state), state);
  };
}

/** Arrows in the image: how the first number of the piece moves, for the block's first row and for its last. */
function steps(image, problem, from, now, pad, tip) {
  const middle = ({ h, w, c }) => [
    image.x((w + pad) * problem.C + c) + image.width / 2, image.y(h + pad) + image.height / 2,
  ];
  return [...new Set([now[1] - 1, now[0]])].map((m) => {
    const [a, b] = [from[4], now[4]].map((k) => middle(sourceOf(problem, m, k)));
    const kind = m === now[0] ? "cl-arrow" : "cl-arrow cl-arrow-faint";
    return svg("line", { x1: a[0], y1: a[1], x2: b[0], y2: b[1], class: kind, "marker-end": `url(#${tip})` });
  });
}

/** What next_c is made of: back to the first row of taps, back to the first of them, on to the next channels. */
function wayBack({ W, C, R, S, dilation }, block) {
  const moves = [
    [(R - 1) * dilation[0], "row", "up", -(R - 1) * dilation[0] * W * C],
    [(S - 1) * dilation[1], "pixel", "left", -(S - 1) * dilation[1] * C],
    [block, "channel", "on", block],
  ];
  const said = moves.filter(([count]) => count).map(([count, one, way, by]) => `${plural(count, one)} ${way} (${signed(by)})`);
  return `: ${said.join(", ")}`;
}

const signed = (value) => (value < 0 ? `−${digits(-value)}` : `+${digits(value)}`);

/** One sentence on what is pointed at, or on the block that is shown. */
function tell({ problem, state, found, now, source, cell, pixel, inBlock }) {
  const [m0, m1, n0, n1, k0, k1, move] = now;
  if (cell) {
    const where = `A[${cell.m}, ${cell.k}]: output pixel (${source.p}, ${source.q}), tap r = ${source.r}, s = ${source.s}, ` +
      `channel ${source.c}. That is ${source.at < 0 ? "on padding: 0" : `x[${source.h}, ${source.w}, ${source.c}], place ${source.at}`}. `;
    return [where, inBlock(cell.m, cell.k) ? "It is in this block." : "Not in this block: right now it exists nowhere."];
  }
  if (pixel !== null) {
    const times = found.reads.get(pixel) ?? 0;
    return [`Place ${pixel} of x is read ${plural(times, "time")} by this block, for ${plural(n1 - n0, "filter")} each.`];
  }
  const span = (a, b) => (b - a === 1 ? `${a}` : `${a} to ${b - 1}`);
  const { r, s, c } = sourceOf(problem, m0, k0);
  const zeros = found.padding ? `, and ${plural(found.padding, "zero")} for padding` : "";
  const what = state.algorithm === "precomputed_gemm"
    ? `tap r = ${r}, s = ${s}, channels ${span(c, c + k1 - k0)}` : `columns ${span(k0, k1)}`;
  const deltas = deltasOf(problem, state.block_k);
  const led = move ? `${move} = ${signed(deltas[move])} led every row here${move === "next_c" ? wayBack(problem, state.block_k) : ""}. ` : "";
  const begins = state.algorithm === "precomputed_gemm" && !move ? "Every row begins at its own start. " : "";
  return [`${led}${begins}Rows ${span(m0, m1)}, ${what} of A: ${plural(found.cells, "cell")}, ` +
    `read from ${plural(found.numbers, "number")} of x${zeros}; times the weights of ` +
    `${n1 - n0 === 1 ? "filter" : "filters"} ${span(n0, n1)}, added to ${plural((m1 - m0) * (n1 - n0), "sum")}.`];
}

function count(problem, { cells, padding, numbers, flops, bytes }, walks) {
  const fact = (role, value, words) =>
    html("div", { class: "cl-count" }, html("b", { class: `cl-chip cl-${role}` }, value), html("span", {}, words));
  const reuse = numbers ? (cells - padding) / numbers : 0;
  return [
    fact("workspace", digits(cells), "cells"),
    fact("input", digits(numbers), "numbers of x"),
    fact("input", ratioText(reuse), "reuse"),
    fact("padding", digits(padding), "padding zeros"),
    fact("workspace", walks ? "0 B" : bytesText(cells * letters(problem).b), "scratch"),
    fact("output", fixed(flops / bytes, 2), "FLOPs for each byte fetched"),
  ];
}

function explain(problem, { cells }, walks, state) {
  const { P, Q, b } = letters(problem);
  const whole = P * Q * problem.R * problem.S * problem.C * b;
  if (!walks) return `The whole matrix would take ${bytesText(whole)}. The scratch for one block takes ${bytesText(cells * b)}.`;
  const { next_s, next_r, next_c } = deltasOf(problem, Math.min(state.block_k, problem.C));
  return `next_s = ${signed(next_s)}, next_r = ${signed(next_r)}, next_c = ${signed(next_c)}: the same for every row, ` +
    "so one number moves them all.";
}

const NAMES = ["H", "W", "C", "K", "R", "S", "stride", "padding", "block_m", "block_n", "block_k", "algorithm", "step"];
export default { render: (context) => live(context, { kind: "tiles", names: NAMES, build }) };
