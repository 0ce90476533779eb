// The tiling explorer: a matrix product cut into blocks, a block among threads, a thread's tile in registers.

import { tensorBytes } from "./shared/formulas.js";
import { bytesText, digits, fixed, plural, ratioText } from "./shared/numbers.js";
import { chip, html, live, more, segments, select, sentence, slider, svg } from "./shared/page.js";
import { guide } from "./shared/guide.js";
import { scrollBox } from "./shared/scroll.js";
import { say } from "./shared/sentences.js";
import { gemmOf, gridOf, occupancyOf, over, tilingOf, trafficOf } from "./tiling.js";

const SIZES = ["block_m", "block_n", "block_k", "thread_m", "thread_n", "split_k"];
const SIDE = 176; // pixels of the longer side of a block
const LINED = 3; // pixels of a thread's side, at least, for lines between threads: closer ones are a black square
const NONE = { limits: {}, blocks: 0, warps: 0, share: 0 }; // of a block that cannot start, no multiprocessor holds any

const numbersOf = (state) => Object.fromEntries([...SIZES, "buffers"].map((name) => [name, Number(state[name])]));
/** FLOPs for each byte: two digits at least, also below one. */
const intensityText = (value) => fixed(value, value < 1 ? 2 : 1);
const problemOf = ({ layers, layer, batch }) => ({ ...layers[layer], N: Number(batch) });

/** Everything that is known of the present state. */
export function sizesUp(state) {
  const [tiling, problem, gpu] = [numbersOf(state), problemOf(state), state.gpus[state.gpu]];
  const takes = tilingOf(tiling, state.most);
  const bytes = (traffic) => traffic.x + traffic.w + traffic.y;
  const { m, n, k, G } = gemmOf(problem);
  const flops = 2 * G * m * n * k;
  const ways = {
    none: trafficOf(problem, { block_m: 1, block_n: 1, split_k: 1 }),
    now: trafficOf(problem, tiling),
    once: tensorBytes(problem),
  };
  const rows = Object.entries(ways).map(([name, traffic]) =>
    [name, { ...traffic, all: bytes(traffic), intensity: flops / bytes(traffic) }]);
  const held = takes.trouble ? NONE : occupancyOf(takes, gpu);
  const grid = gridOf(problem, tiling);
  const rounds = held.blocks ? Math.ceil(grid.blocks / (held.blocks * gpu.processors)) : 0;
  return { tiling, problem, gpu, takes, held, grid, rounds, m, n, k, ...Object.fromEntries(rows) };
}

function build(page) {
  const state = page.state();
  const title = html("div", { class: "cl-title" });
  const trouble = html("div", { class: "cl-tiling-trouble", role: "status" });
  const story = sentence(page);
  const values = {};
  const size = (name, label, one, where) => html("label", { class: "cl-field cl-grows" },
    html("span", { class: "cl-knob" }, `${label} `, (values[name] = html("b"))), slider(page, {
      name, label: name, count: () => state.choices[name].length, say: (now) => `${plural(Number(now[name]), one)} ${where}`,
      at: {
        read: (now) => now.choices[name].indexOf(now[name]),
        write: (at) => ({ [name]: page.state().choices[name][at] }),
      },
    }));
  const field = (name, control) => html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, name), control);
  const options = (words, text = (word) => word) => words.map((word) => [word, text(word)]);
  const figure = (role, name, node) => {
    const words = html("span");
    const part = html("div", { class: "cl-figure" }, html("div", { class: "cl-caption" }, chip(role, name), " ", words), node);
    return { part, words };
  };
  const [grid, block, thread] = [svg("svg", { role: "img" }), svg("svg", { role: "img" }), svg("svg", { role: "img" })];
  const shown = {
    grid: figure("output", "y", grid), block: figure("workspace", "one block", block), thread: figure("output", "one thread", thread),
  };
  const [bars, costs] = [html("div", { class: "cl-paces" }), html("div")];
  page.root.append(
    title,
    guide(page),
    html("div", { class: "cl-tiling-sizes" },
      size("block_m", "block_m", "pixel", "in a block"), size("block_n", "block_n", "filter", "in a block"),
      size("thread_m", "thread_m", "pixel", "of a thread"), size("thread_n", "thread_n", "filter", "of a thread")),
    more(
      html("div", { class: "cl-bar cl-tight" },
        field("layer", select(page, { name: "layer", label: "layer of ResNet-18", options: options(Object.keys(state.layers)) })),
        field("batch", segments(page, { name: "batch", label: "batch", options: options(["1", "8", "32"]) })),
        field("GPU", segments(page, { name: "gpu", label: "GPU", options: options(Object.keys(state.gpus)) }))),
      html("div", { class: "cl-tiling-sizes" },
        size("block_k", "block_k", "term", "of the sum at once"), size("split_k", "split_k", "block", "to a sum")),
      html("div", { class: "cl-bar" }, field("buffers", segments(page, {
        name: "buffers", label: "buffers in shared memory", options: [["1", "one"], ["2", "two: fetch while multiplying"]],
      })))),
    trouble,
    html("div", { class: "cl-stage cl-top cl-tiling-stage" }, shown.grid.part, shown.block.part, shown.thread.part),
    story,
    html("div", { class: "cl-panels cl-tiling-panels" }, html("div", { class: "cl-panel" }, scrollBox(page, costs)), html("div", { class: "cl-panel" }, bars)));

  return function draw(now) {
    const all = sizesUp(now);
    const { tiling, takes, held } = all;
    for (const name of SIZES) values[name].textContent = now[name];
    title.textContent = finding(now, all);
    trouble.textContent = takes.trouble ? `No kernel can be cut like this: ${takes.trouble}.` : "";
    trouble.style.display = takes.trouble ? "" : "none";
    story.textContent = told(all);

    drawGrid(grid, all);
    shown.grid.words.textContent = `${digits(all.m)} × ${digits(all.n)} in ${digits(all.grid.rows)} × ${digits(all.grid.cols)} blocks` +
      (tiling.split_k > 1 ? `, ${tiling.split_k} deep` : "");
    drawBlock(block, all);
    shown.block.words.textContent = `${tiling.block_m} × ${tiling.block_n}, ${plural(takes.threads, "thread")}, ${bytesText(takes.shared)} shared`;
    drawThread(thread, all, now.most.others);
    const compiled = now.compiled[[tiling.block_m, tiling.block_n, tiling.block_k, tiling.thread_m, tiling.thread_n, tiling.buffers, 1].join()];
    shown.thread.words.textContent = `${plural(takes.registers, "register")}, by estimate` +
      (compiled ? `; the compiler takes ${compiled}` : "");
    costs.replaceChildren(table(all));
    bars.replaceChildren(
      ...(takes.trouble ? [] : [html("div", { class: "cl-head" }, `blocks that one multiprocessor of ${now.gpu} has room for, by`)]),
      ...Object.entries(held.limits).map(([name, most]) => bar(name, most, all)),
      html("div", { class: "cl-note" }, `${plural(held.blocks, "block")} at once: ${held.warps} warps, ` +
        `${fixed(100 * held.share, 0)} % of what it can hold. ${busy(now, all)}`));
  };
}

function finding({ gpu }, { takes, held, grid, none, now, gpu: { processors } }) {
  if (takes.trouble) return say("refused");
  const idle = processors - grid.blocks;
  if (idle > 0) return say("idle", { blocks: plural(grid.blocks, "block"), processors, gpu, idle });
  return say("saved", { ratio: ratioText(none.all / now.all), blocks: plural(held.blocks, "block"), limit: held.limitedBy });
}

const busy = ({ gpu }, { grid, rounds, gpu: whole }) => `The layer is ${plural(grid.blocks, "block")}, ${gpu} has ${whole.processors} multiprocessors: ` +
  `${rounds ? plural(rounds, "round") : "none runs"}.`;

/** One sentence on what a block and a thread get for what they fetch. */
function told({ tiling, takes, grid, k }) {
  const { block_m, block_n, block_k, thread_m, thread_n } = tiling;
  const waste = grid.wasted >= 0.005 ? ` ${fixed(100 * grid.wasted, 0)} % of its outputs hang over the edge.` : "";
  return `A block fetches ${block_m} + ${block_n} numbers for each term and does ${digits(block_m * block_n)} multiply-adds with them, ` +
    `${intensityText(takes.blockIntensity)} FLOPs for each byte; a thread reads ${thread_m} + ${thread_n} from shared memory for ` +
    `${thread_m * thread_n}, ${intensityText(takes.threadIntensity)} FLOPs for each byte. ` +
    `A sum takes ${plural(over(over(k, tiling.split_k), block_k), "step")} of ${block_k} terms.${waste}`;
}

// -- the three pictures --------------------------------------------------------------------------------------

const rect = (x, y, width, height, kind, more = {}) => svg("rect", { x, y, width, height, class: `cl-cell ${kind}`, ...more });
const label = (x, y, text, more = {}) => svg("text", { x, y, class: "cl-note-text", ...more }, text);

function lay(node, width, height, words, ...parts) {
  node.setAttribute("viewBox", `0 0 ${width} ${height}`);
  node.setAttribute("width", width);
  node.setAttribute("height", height);
  node.setAttribute("aria-label", words);
  node.replaceChildren(...parts);
}

/** y in blocks, at most so many of them as can be told apart; the first is outlined. Behind it the parts of its sums. */
function drawGrid(node, { grid, tiling, m, n }) {
  const [rows, cols] = [Math.min(grid.rows, 8), Math.min(grid.cols, 8)];
  const { block_m, block_n } = tiling;
  const scale = Math.min(150 / (cols * block_n), SIDE / (rows * block_m), 40 / Math.max(block_m, block_n));
  const [wide, high] = [Math.max(block_n * scale, 4), Math.max(block_m * scale, 4)];
  const sheets = Math.log2(tiling.split_k); // one for each doubling
  const depth = 4 * sheets;
  const parts = [];
  for (let behind = sheets; behind > 0; behind--) {
    parts.push(rect(2 + 4 * behind, 2 + 4 * behind, cols * wide, rows * high, "cl-workspace"));
  }
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < cols; j++) {
      const [x, y] = [2 + j * wide, 2 + i * high];
      parts.push(rect(x, y, wide, high, "cl-output"));
      // What lies beyond the last pixel or filter is computed for nothing.
      const down = i + 1 === grid.rows ? grid.rows - m / block_m : 0;
      const right = j + 1 === grid.cols ? grid.cols - n / block_n : 0;
      if (down > 0.01) parts.push(rect(x, y + high * (1 - down), wide, high * down, "cl-waste"));
      if (right > 0.01) parts.push(rect(x + wide * (1 - right), y, wide * right, high, "cl-waste"));
    }
  }
  const more = [
    grid.rows > rows && label(2, 2 + rows * high + depth + 13, `and ${plural(grid.rows - rows, "row")} of blocks more`),
    grid.cols > cols && label(2, 2 + rows * high + depth + 27, `and ${plural(grid.cols - cols, "column")} more`),
  ].filter(Boolean);
  const outline = svg("rect", { x: 2, y: 2, width: wide, height: high, class: "cl-frame" });
  lay(node, Math.max(cols * wide + depth + 4, 175), rows * high + depth + 32,
    `y in ${grid.rows} by ${grid.cols} blocks; the first is outlined.`, ...parts, outline, ...more);
}

/** One block: its pieces of the pixels and of the weights, its threads, and the first of them. */
function drawBlock(node, { tiling, takes }) {
  const { block_m, block_n, block_k, thread_m, thread_n, buffers } = tiling;
  const scale = SIDE / Math.max(block_m, block_n);
  const [wide, high, deep] = [block_n * scale, block_m * scale, Math.min(Math.max(block_k * scale, 7), 60)];
  const behind = buffers === 2 ? 4 : 0;
  const [left, top] = [deep + behind + 10, deep + behind + 10];
  const [cellWide, cellHigh] = [Math.min(thread_n, block_n) * scale, Math.min(thread_m, block_m) * scale];
  const parts = [];
  if (behind) {
    parts.push(rect(2 + behind, top + behind, deep, high, "cl-input cl-unread"), rect(left + behind, 2 + behind, wide, deep, "cl-filter cl-unread"));
  }
  parts.push(rect(2, top, deep, high, "cl-input"), rect(left, 2, wide, deep, "cl-filter"), rect(left, top, wide, high, "cl-output"));
  const lines = [];
  const [across, down] = [cellWide, cellHigh].map((cell) => (cell < LINED ? Infinity : cell));
  for (let x = across; x < wide - 0.5; x += across) lines.push(`M${left + x} ${top}v${high}`);
  for (let y = down; y < high - 0.5; y += down) lines.push(`M${left} ${top + y}h${wide}`);
  parts.push(svg("path", { d: lines.join(""), class: "cl-threads" }));
  const frame = (x, y, width, height) => svg("rect", { x, y, width, height, class: "cl-frame" });
  parts.push(frame(left, top, cellWide, cellHigh), frame(2, top, deep, cellHigh), frame(left, 2, cellWide, deep));
  lay(node, left + wide + 6, top + high + 6,
    `A block of ${block_m} by ${block_n} outputs and its ${takes.threads} threads; beside it ${block_m} by ${block_k} numbers of x, ` +
    `above it ${block_k} by ${block_n} of w. What the first thread reads and computes is outlined.`, ...parts);
}

/** The registers of one thread: sums, a column of x, a row of w, what it carries, and the rest. */
function drawThread(node, { tiling, takes }, others) {
  const { thread_m, thread_n } = tiling;
  const size = Math.min(14, SIDE / Math.max(thread_m, thread_n, 8));
  const [left, top] = [size + 8, size + 8];
  const cell = (x, y, kind) => rect(x, y, size - 1.5, size - 1.5, kind);
  const parts = [];
  for (let i = 0; i < thread_m; i++) {
    parts.push(cell(2, top + i * size, "cl-input"));
    for (let j = 0; j < thread_n; j++) parts.push(cell(left + j * size, top + i * size, "cl-output"));
  }
  for (let j = 0; j < thread_n; j++) parts.push(cell(left + j * size, 2, "cl-filter"));
  const under = top + Math.max(thread_m, 1) * size + 10;
  const rest = [...Array(takes.staged).fill("cl-workspace"), ...Array(others).fill("")];
  const [small, across] = [9, 20];
  rest.forEach((kind, i) => parts.push(rect(2 + (i % across) * small, under + 16 + Math.floor(i / across) * small, small - 1.5, small - 1.5, kind)));
  const words = `${thread_m * thread_n} sums + ${thread_m} of x + ${thread_n} of w`;
  parts.push(label(2, under + 8, `+ ${takes.staged} on their way, + ${others} addresses`));
  lay(node, Math.max(left + thread_n * size, across * small + 4, 200), under + 20 + Math.ceil(rest.length / across) * small,
    `Registers of a thread: ${words}, ${takes.staged} on their way to shared memory, ${others} for addresses.`, ...parts);
}

// -- what it costs -------------------------------------------------------------------------------------------

function table({ none, now, once }) {
  const line = (name, { x, w, y, all, intensity }, kind = "") => html("tr", { class: kind }, html("th", { scope: "row" }, name),
    [...[x, w, y, all].map(bytesText), intensityText(intensity)].map((text) => html("td", {}, text)));
  const head = ["asked of memory", "x", "w", "y", "together", "FLOPs per byte"];
  return html("table", { class: "cl-costs" },
    html("thead", {}, html("tr", {}, head.map((text) => html("th", { scope: "col" }, text)))),
    html("tbody", {}, line("no tile", none), line("this tiling", now, "cl-now"), line("every number once", once)));
}

function bar(name, most, { held, takes, gpu }) {
  const top = gpu.blocks;
  const whole = { "registers": gpu.registers, "shared memory": gpu.sharedBytes, "threads": gpu.threads };
  const used = { "registers": takes.registers * takes.threads, "shared memory": takes.shared, "threads": takes.threads };
  const text = (count) => (name === "shared memory" ? bytesText(count) : digits(count));
  const how = whole[name] ? ` of ${text(whole[name])}, ${text(used[name])} each` : " is the most";
  const role = { "registers": "output", "shared memory": "workspace", "threads": "input" }[name] ?? "padding";
  return html("div", { class: `cl-pace ${name === held.limitedBy ? "cl-chosen" : ""}` }, html("span", {}, name),
    html("span", { class: "cl-pace-track" },
      html("span", { class: `cl-pace-length cl-${role}`, style: `width: ${(100 * Math.min(most, top)) / top}%` })),
    html("span", {}, html("b", {}, digits(most)), how));
}

const NAMES = [...SIZES, "buffers", "layer", "batch", "gpu", "choices", "layers", "gpus", "most", "compiled"];
export default { render: (context) => live(context, { kind: "tiling", names: NAMES, build }) };
