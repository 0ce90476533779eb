// im2col fills: every window of the image is copied into a matrix, one row (or one column) at a time.

import { letters, readersOf, tapOrder, whyNot, windowOf } from "./shared/formulas.js";
import { digits, plural, ratioText } from "./shared/numbers.js";
import { chip, html, live, more, numberBox, player, segments, sentence, toggle } from "./shared/page.js";
import { Grid } from "./shared/grid.js";
import { guide } from "./shared/guide.js";

const problemOf = ({ H, W, C, R, S, stride, padding }) => ({
  ...{ N: 1, H, W, C, K: 1, R, S, dilation: [1, 1] },
  ...{ stride: [stride, stride], padding: [[padding, padding], [padding, padding]] },
});

const windows = (state) => {
  const { P, Q } = letters(problemOf(state));
  return whyNot(problemOf(state)) ? 0 : P * Q;
};

/** How often each pixel stands in the whole matrix: as often as an output reads it. */
export function copiesOf(problem) {
  const row = (h) => Array.from({ length: problem.W }, (_, w) => readersOf(problem, h, w).length);
  return Array.from({ length: problem.H }, (_, h) => row(h));
}

/** The matrix, window by window: which number of the image each cell copies ({ h, w, c, at }), at -1 for padding. */
export function matrixOf(problem, order) {
  const { P, Q, W, C } = { ...problem, ...letters(problem) };
  const along = tapOrder(problem, order);
  return Array.from({ length: P * Q }, (_, m) => {
    const taps = windowOf(problem, Math.floor(m / Q), m % Q);
    return along.map(({ r, s, c }) => {
      const { h, w, inside } = taps[r * problem.S + s];
      return { r, s, c, h, w, at: inside ? (h * W + w) * C + c : -1 };
    });
  });
}

function build(page) {
  let pixel = null; // { h, w, c } under the pointer in the image
  let inSight = ""; // the window that the matrix was last scrolled to
  let cell = null; // { m, k } under the pointer in the matrix: window and place along it
  const image = new Grid(page, {
    role: "input pixels",
    look(at) {
      const { C, padding } = page.state();
      pixel = at && { h: at.row - padding, w: Math.floor(at.column / C) - padding, c: at.column % C };
      page.refresh();
    },
  });
  const turn = (at) => at && (page.state().layout_of === "im2row" ? { m: at.row, k: at.column } : { m: at.column, k: at.row });
  const matrix = new Grid(page, {
    role: "matrix",
    look(at) { cell = turn(at); page.refresh(); },
    choose(at) { if (at) page.set({ step: turn(at).m }); },
  });

  const captions = { image: html("span"), matrix: html("span") };
  const story = sentence(page);
  const trouble = html("div", { class: "cl-trouble", role: "status" });
  const counts = html("div", { class: "cl-counts" });
  const lesson = html("div", { class: "cl-lesson" });
  const figure = (grid, role, name, caption, extra = "") => html("div", { class: `cl-figure ${extra}` },
    html("div", { class: "cl-caption" }, chip(role, name), " ", caption), grid.box);
  const panel = html("div", { class: "cl-panel cl-gone" }, counts, lesson);
  const stage = html("div", { class: "cl-stage cl-top" },
    html("div", { class: "cl-left" }, figure(image, "input", "x", captions.image), panel),
    figure(matrix, "workspace", "matrix", captions.matrix, "cl-gone"), trouble);
  const title = html("div", { class: "cl-title" });
  const scroll = matrix.box.firstChild;
  const knob = (name) =>
    html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, name), numberBox(page, { name, label: name }));

  page.root.append(
    title,
    guide(page),
    html("div", { class: "cl-bar" },
      segments(page, {
        name: "layout_of", label: "layout of the matrix", options: [["im2row", "im2row"], ["im2col", "im2col"]],
        write: (value) => ({ layout_of: value, order: value === "im2row" ? "RSC" : "CRS" }),
      }),
      toggle(page, { name: "copies", label: "copies per pixel" })),
    stage,
    player(page, {
      name: "step", label: "window", count: windows, pause: 450,
      say: (state) => (windows(state) ? `window ${Math.min(state.step + 1, windows(state))} of ${windows(state)}` : "no window"),
    }),
    story,
    more(
      html("div", { class: "cl-bar cl-tight" }, ["H", "W", "C", "R", "S", "stride", "padding"].map(knob)),
      html("div", { class: "cl-bar" }, html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, "along a window"),
        segments(page, { name: "order", label: "order along a window", options: [["RSC", "R, S, C"], ["CRS", "C, R, S"]] })))));

  return function draw(state) {
    const problem = problemOf(state);
    const { H, W, C, R, S, P, Q } = { ...problem, ...letters(problem) };
    const pad = state.padding;
    const broken = whyNot(problem);
    title.textContent = `Every window becomes a ${state.layout_of === "im2row" ? "row" : "column"} of a matrix`;
    stage.classList.toggle("cl-broken", Boolean(broken));
    trouble.textContent = broken ?? "";

    const rows = broken ? [] : matrixOf(problem, state.order);
    const step = Math.min(state.step, rows.length - 1);
    const filled = cell ? Math.max(step, cell.m) : step;
    const shown = cell ? cell.m : step; // the window that is outlined
    const [p, q] = broken ? [0, 0] : [Math.floor(shown / Q), shown % Q];
    const corner = { row: p * state.stride, column: q * state.stride * C };
    const copies = copiesOf(problem);
    const most = Math.max(...copies.flat(), 1);
    const source = cell && !broken ? rows[cell.m][cell.k] : null;

    if (!broken) story.replaceChildren(...tell(problem, rows, { pixel, source, cell, step, p, q, order: state.order }));
    image.draw({
      rows: H + 2 * pad, columns: (W + 2 * pad) * C, width: C === 1 ? 30 : 22, height: 30, group: C,
      rowNames: (i) => (i >= pad && i < pad + H ? i - pad : ""),
      columnNames: (i) => (i % C === 0 && i / C >= pad && i / C < pad + W ? i / C - pad : ""),
      start: corner,
      cell(i, j) {
        const [h, w, c] = [i - pad, Math.floor(j / C) - pad, j % C];
        const inside = h >= 0 && h < H && w >= 0 && w < W;
        const same = source && source.h === h && source.w === w && source.c === c;
        if (!inside) return { kind: `cl-padding ${same ? "cl-lit" : ""}`, text: 0 };
        const lit = same ? "cl-lit" : "";
        if (state.copies) return { kind: `cl-heat ${lit}`, text: copies[h][w], heat: copies[h][w] / most };
        return { kind: `cl-input ${lit}`, text: (h * W + w) * C + c };
      },
      frames: [
        ...(broken ? [] : [{ name: "window", ...corner, rows: R, columns: S * C }]),
        ...(pixel ? [{ name: "followed", row: pixel.h + pad, column: (pixel.w + pad) * C + pixel.c }] : []),
      ],
      label: `Image of ${H} by ${W} pixels and ${plural(C, "channel")}. ` +
        (broken ?? `Window ${shown + 1} of ${rows.length} is outlined. ${story.textContent}`),
    });
    const meaning = state.copies ? "the number counts its copies" : "the number is its place in memory";
    captions.image.textContent = `${H} × ${W} × ${C}; ${meaning}`;
    if (broken) {
      for (const part of [story, counts, lesson]) part.replaceChildren();
      return;
    }

    const isRow = state.layout_of === "im2row";
    const [M, K] = [rows.length, R * S * C];
    const [high, wide] = isRow ? [M, K] : [K, M];
    const size = Math.max(wide, high * 0.8);
    const unit = size <= 14 ? 26 : 22;
    const follows = ({ h, w, c }) => pixel && pixel.h === h && pixel.w === w && pixel.c === c;
    matrix.draw({
      rows: high, columns: wide, width: unit, height: isRow ? Math.min(unit, 20) : unit,
      group: isRow ? (state.order === "RSC" ? S * C : R * S) : 0,
      start: isRow ? { row: shown, column: 0 } : { row: 0, column: shown },
      cell(i, j) {
        const [m, k] = isRow ? [i, j] : [j, i];
        if (m > filled) return { kind: "cl-empty" };
        const number = rows[m][k];
        const chosen = follows(number) || (cell && cell.m === m && cell.k === k) ? "cl-lit" : "";
        return number.at < 0 ? { kind: `cl-padding ${chosen}`, text: 0 } : { kind: `cl-workspace ${chosen}`, text: number.at };
      },
      frames: [isRow ? { name: "window", row: shown, column: 0, columns: K } : { name: "window", row: 0, column: shown, rows: K }],
      label: `${state.layout_of} matrix of ${plural(high, "row")} and ${plural(wide, "column")}, ${filled + 1} of ${plural(M, "window")} filled. ` +
        story.textContent,
    });
    // Side by side if a little shrinking is enough; a long matrix scrolls, and keeps the present window in sight.
    stage.style.flexWrap = image.least + matrix.least + 70 < page.width() ? "nowrap" : "wrap";
    const scale = matrix.node.getBoundingClientRect().height / matrix.high;
    const now = `${matrix.shape} ${step}`;
    if (!cell && now !== inSight) {
      scroll.scrollTo(isRow ? { top: step * matrix.height * scale - 200 } : { left: step * unit * scale - 150 });
    }
    inSight = now;
    captions.matrix.textContent = isRow
      ? `${M} × ${K}: a row is an output pixel, a column is a tap and channel`
      : `${K} × ${M}: a column is an output pixel, a row is a tap and channel`;
    counts.replaceChildren(...count(problem, rows));
    lesson.textContent = explain(problem, copies, state);
  };
}

const place = ({ h, w, c }) => `x[${h}, ${w}, ${c}]`;

/** One sentence on what is pointed at, or on the window just copied. */
function tell(problem, rows, { pixel, source, cell, step, p, q, order }) {
  if (cell) {
    const where = `Window y[${p}, ${q}], tap r = ${source.r}, s = ${source.s}, channel ${source.c}: `;
    if (source.at < 0) return [where, "it falls on padding, so a 0 is written."];
    return [where, `a copy of ${place(source)}, place ${source.at} in memory.`];
  }
  if (pixel) {
    const copies = (list) => list.flat().filter(({ h, w, c }) => h === pixel.h && w === pixel.w && c === pixel.c).length;
    const inside = pixel.h >= 0 && pixel.h < problem.H && pixel.w >= 0 && pixel.w < problem.W;
    if (!inside) return ["Padding is not in memory: the matrix gets a 0 for it."];
    return [`${place(pixel)} is copied ${plural(copies(rows), "time")} in all, ${copies(rows.slice(0, step + 1))} so far.`];
  }
  const row = rows[step];
  const runs = row.filter(({ at }, i) => at >= 0 && (i === 0 || row[i - 1].at !== at - 1)).length;
  const zeros = row.filter(({ at }) => at < 0).length;
  return [`Window y[${p}, ${q}]: ${plural(row.length, "cell")} in the order ${[...order].join(", ")}, ` +
    `${zeros ? `${zeros} of them zeros for padding, the rest ` : ""}copied in ${plural(runs, "unbroken run")} of memory.`];
}

function count(problem, rows) {
  const [numbers, cells] = [problem.H * problem.W * problem.C, rows.length * rows[0].length];
  const fact = (role, value, words) =>
    html("div", { class: "cl-count" }, html("b", { class: `cl-chip cl-${role}` }, value), html("span", {}, words));
  const zeros = rows.flat().filter(({ at }) => at < 0).length;
  return [
    fact("input", digits(numbers), `numbers in x (${problem.H}·${problem.W}·${problem.C})`),
    fact("workspace", digits(cells), `cells in the matrix (${rows.length}·${rows[0].length})`),
    fact("workspace", ratioText(cells / numbers), "as large"),
    ...(zeros ? [fact("padding", digits(zeros), "of the cells are padding zeros")] : []),
  ];
}

function explain(problem, copies, { stride, padding }) {
  const { R, S } = problem;
  const [least, most] = [Math.min(...copies.flat()), Math.max(...copies.flat())];
  if (R * S === 1 && stride === 1 && padding === 0) {
    return "A 1 × 1 filter: the matrix is the image itself, number for number. There is nothing to copy.";
  }
  if (most === 0) return "No pixel is copied at all: every tap falls on padding.";
  if (least === 0) {
    return `Some pixels are copied ${most === 1 ? "once" : `up to ${most} times`}, others never: the stride steps over them.`;
  }
  if (most === 1) return "Each pixel is copied once: the windows do not overlap.";
  if (stride === 1 && most === R * S) {
    const corner = least < most ? ` At a corner it is ${least}.` : "";
    return `A pixel in the middle is copied ${most} times: once for each of the R·S = ${R}·${S} taps.${corner}`;
  }
  const times = least === most ? `${most} times` : `${least} to ${most} times`;
  if (stride === 1) return `A pixel is copied ${times}: the image is too small for every tap to reach every pixel.`;
  return `A pixel is copied ${times}: the R·S = ${R * S} taps are shared out over ${stride} × ${stride} pixels, ` +
    `since the window moves ${stride} at a time.`;
}

const NAMES = ["H", "W", "C", "R", "S", "stride", "padding", "layout_of", "order", "copies", "step"];
export default { render: (context) => live(context, { kind: "filling", names: NAMES, build }) };
