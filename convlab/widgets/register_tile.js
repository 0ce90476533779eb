// The register tile: at each step a column of a meets a row of the panel, and every sum takes one product.

import { fixed, plural } from "./shared/numbers.js";
import { chip, html, live, more, player, segments, sentence, slider } from "./shared/page.js";
import { Grid } from "./shared/grid.js";
import { guide } from "./shared/guide.js";
import { say } from "./shared/sentences.js";
import { sumsOf, tileBounds } from "./tile_bounds.js";

const boundsOf = (state) => tileBounds({
  ...state, registers: Number(state.registers), units: Number(state.units), loads: state.loads[state.units],
});

function build(page) {
  let cell = null; // { row, column } under the pointer in the sums
  const [a, b] = [new Grid(page, { role: "numbers of a" }), new Grid(page, { role: "panel of b" })];
  const sums = new Grid(page, { role: "tile of sums", look(at) { cell = at; page.refresh(); } });
  const registers = new Grid(page, { role: "registers" });
  for (const still of [a, b, registers]) still.node.setAttribute("tabindex", -1); // pictures only

  const title = html("div", { class: "cl-title" });
  const words = Object.fromEntries(["a", "b", "sums", "registers"].map((name) => [name, html("span")]));
  const figure = (grid, role, name, key, place) => html("div", { class: `cl-figure cl-${place}` },
    html("div", { class: "cl-caption" }, chip(role, name), " ", words[key]), grid.box);
  const bars = html("div", { class: "cl-paces" });
  const story = sentence(page);
  const sizes = {};
  const size = (name, label, most) => html("label", { class: "cl-field cl-grows" },
    html("span", { class: "cl-knob" }, `${label} `, (sizes[name] = html("b"))), slider(page, {
      name, label, count: () => most, say: (state) => plural(state[name], label.replace(/s$/, "")),
      at: { read: (state) => state[name] - 1, write: (value) => ({ [name]: value + 1 }) },
    }));

  page.root.append(
    title,
    guide(page),
    html("div", { class: "cl-bar" }, size("rows", "rows", page.limits("rows")[1]), size("vectors", "vectors", page.limits("vectors")[1])),
    html("div", { class: "cl-tile-stage" },
      figure(b, "filter", "panel of b", "b", "tile-b"), figure(a, "input", "a", "a", "tile-a"),
      figure(sums, "output", "sums", "sums", "tile-sums")),
    player(page, {
      name: "step", label: "step k", count: (state) => state.b.length, pause: 700,
      say: (state) => `k = ${state.step} of 0 to ${state.b.length - 1}`,
    }),
    story,
    more(html("div", { class: "cl-bar" },
      html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, "registers"),
        segments(page, { name: "registers", label: "vector registers of the processor", options: [["32", "32"], ["16", "16"]] })),
      html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, "multiply-adds begun in a cycle"),
        segments(page, { name: "units", label: "multiply-adds begun in a cycle", options: [["4", "4"], ["2", "2"], ["1", "1"]] })))),
    html("div", { class: "cl-panel" }, figure(registers, "output", "registers", "registers", "tile-registers"), bars));

  return function draw(state) {
    const { rows, vectors, step, lanes } = state;
    const [cols, length] = [vectors * lanes, state.b.length];
    const bounds = boundsOf(state);
    const totals = sumsOf(state.a, state.b, rows, cols, step);
    const lit = (on) => (on ? "cl-lit" : "");
    const percent = fixed(100 * bounds.share, 0);
    title.textContent = bounds.spilled
      ? say("spilled", { rows, vectors, sums: plural(bounds.spilled, "sum") })
      : say("reach", { rows, vectors, percent, why: say(bounds.limit) });

    for (const name of ["rows", "vectors"]) sizes[name].textContent = state[name];
    const size = { width: 27, height: 24 };
    b.draw({
      ...size, rows: length, columns: cols, group: lanes, label: `Panel of b, ${length} by ${cols}; row ${step} is outlined.`,
      cell: (i, j) => ({ kind: `cl-filter ${lit(cell && i <= step && j === cell.column)} ${i > step ? "cl-unread" : ""}`, text: state.b[i][j] }),
      frames: [{ name: "step", row: step, column: 0, columns: cols }],
    });
    a.draw({
      ...size, rows, columns: length, label: `${plural(rows, "row")} of a; column ${step} is outlined.`,
      cell: (i, j) => ({ kind: `cl-input ${lit(cell && i === cell.row && j <= step)} ${j > step ? "cl-unread" : ""}`, text: state.a[i][j] }),
      frames: [{ name: "step", row: 0, column: step, rows }],
    });
    sums.draw({
      ...size, rows, columns: cols, group: lanes, start: { row: 0, column: 0 },
      cell: (i, j) => ({ kind: `cl-output ${lit(cell && i === cell.row && j === cell.column)}`, text: totals[i][j] }),
      label: `Tile of ${rows} by ${cols} sums after ${plural(step + 1, "product")}. ${told(state, bounds, totals, cell)}`,
    });
    words.b.textContent = `one row of ${plural(vectors, "vector")} at each step`;
    words.a.textContent = "one column at each step";
    words.sums.textContent = `${plural(bounds.multiplyAdds, "register")}, after ${step + 1} of ${length} products`;
    story.textContent = told(state, bounds, totals, cell);

    // What is loaded comes first: it is the sums that find no room.
    const kinds = [...Array(vectors).fill("filter"), "input", ...Array(bounds.multiplyAdds).fill("output")];
    const there = Number(state.registers);
    registers.draw({
      rows: Math.ceil(Math.max(there, bounds.used) / 16), columns: 16, width: 27, height: 20,
      cell: (i, j) => {
        const at = 16 * i + j;
        if (at >= Math.max(there, bounds.used)) return { kind: "cl-nowhere" };
        if (!kinds[at]) return { kind: "cl-empty" };
        return at >= there ? { kind: `cl-${kinds[at]} cl-homeless`, text: "!" } : { kind: `cl-${kinds[at]}` };
      },
      label: `${bounds.used} of ${there} registers are wanted.`,
    });
    const short = bounds.spilled ? `, ${plural(bounds.spilled, "sum")} must live in memory` : "";
    words.registers.textContent = `${plural(bounds.multiplyAdds, "sum")} + ${plural(vectors, "weight")} + 1 number of a = ` +
      `${bounds.used} of ${there}${short}`;
    bars.replaceChildren(html("div", { class: "cl-head" }, `cycles for one step, at least${bounds.spilled ? " (and more, for the sums that live in memory)" : ""}`), ...pace(state, bounds));
  };
}

/** One sentence on the sum that is pointed at, or on the step. */
function told({ a, b, step, vectors, lanes }, bounds, totals, cell) {
  if (cell) {
    const products = Array.from({ length: step + 1 }, (_, k) => `${a[cell.row][k]}·${b[k][cell.column]}`);
    return `Row ${cell.row}, column ${cell.column}: ${products.join(" + ")} = ${totals[cell.row][cell.column]}, ` +
      `in lane ${cell.column % lanes} of vector ${Math.floor(cell.column / lanes)}. Nothing of it was in memory on the way.`;
  }
  return `Step k = ${step}: ${plural(bounds.multiplyAdds, "multiply-add")} on vectors, ${plural(bounds.fetched, "load")}` +
    `, ${fixed(bounds.fetched / bounds.multiplyAdds, 2)} for each multiply-add.`;
}

function pace({ units, loads }, bounds) {
  const most = Math.max(...Object.values(bounds.cycles));
  const lines = [
    ["units", "output", "multiply-adds", `= ${bounds.multiplyAdds} / ${units} in a cycle`],
    ["latency", "padding", "waiting", "until a sum can go on"],
    ["loads", "filter", "loads", `= ${bounds.fetched} / ${loads[units]} in a cycle`],
  ];
  return lines.map(([name, role, what, how]) => html("div", { class: `cl-pace ${name === bounds.limit ? "cl-chosen" : ""}` },
    html("span", {}, what), html("span", { class: "cl-pace-track" },
      html("span", { class: `cl-pace-length cl-${role}`, style: `width: ${(100 * bounds.cycles[name]) / most}%` })),
    html("span", {}, html("b", {}, `${Number(bounds.cycles[name].toFixed(2))}`), ` ${how}`)));
}

const NAMES = ["rows", "vectors", "registers", "units", "step", "a", "b", "latency", "loads", "lanes"];
export default { render: (context) => live(context, { kind: "tile", names: NAMES, build }) };
