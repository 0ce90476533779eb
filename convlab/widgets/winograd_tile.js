// One tile of Winograd's convolution: transformed, multiplied cell by cell, transformed back.

import { fixed, plural } from "./shared/numbers.js";
import { chip, html, live, player, segments, sentence } from "./shared/page.js";
import { Grid } from "./shared/grid.js";
import { guide } from "./shared/guide.js";
import { say } from "./shared/sentences.js";

// Each part: the step it appears at, its role, what it is made of with which matrix, and its formula.
const PARTS = {
  d: { step: 0, role: "input", long: "pixels", formula: { 1: "pixels", 2: "pixels" } },
  V: { step: 1, role: "workspace", long: "transformed pixels", from: "d", by: "BT", formula: { 1: "Bᵀ d", 2: "Bᵀ d B" } },
  M: { step: 3, role: "workspace", long: "products", formula: { 1: "V × U, cell by cell", 2: "V × U, cell by cell" } },
  g: { step: 0, role: "filter", long: "filter", formula: { 1: "the filter", 2: "the filter" } },
  U: { step: 2, role: "workspace", long: "transformed filter", from: "g", by: "G", formula: { 1: "G g", 2: "G g Gᵀ" } },
  y: { step: 4, role: "output", long: "outputs", from: "M", by: "AT", formula: { 1: "Aᵀ M", 2: "Aᵀ M A" } },
};
const SAID = [
  "The pixels of one tile, and the filter.",
  "V: the pixels, transformed. Additions, and small constants that are known beforehand.",
  "U: the filter, transformed. Once for the whole layer, so it hardly counts.",
  "M: cell by cell, one multiplication each. These are all the multiplications of pixels and weights.",
  "y: transformed back. The very numbers that the definition gives.",
];

const divisor = (a, b) => (b ? divisor(b, a % b) : Math.abs(a));

/** What cell (i, j) of a part takes from cell (a, b) of the part before: a coefficient [numerator, denominator]. */
export function coefficient(matrix, dimensions, [i, j], [a, b]) {
  const down = dimensions === "1" ? [1, 1] : matrix[i][a];
  const [numerator, denominator] = [down[0] * matrix[j][b][0], down[1] * matrix[j][b][1]];
  const common = divisor(numerator, denominator) || 1;
  return [numerator / common, denominator / common];
}

/** A coefficient as people write it: "−5/4". */
export const fraction = ([numerator, denominator]) =>
  (numerator < 0 ? "−" : "") + Math.abs(numerator) + (denominator === 1 ? "" : `/${denominator}`);

function build(page) {
  let under = null; // { part, row, column } of the cell under the pointer
  const grids = {};
  const captions = {};
  for (const [name, { long }] of Object.entries(PARTS)) {
    grids[name] = new Grid(page, {
      role: long,
      look(at) { under = at && { part: name, ...at }; page.refresh(); },
    });
    captions[name] = html("span");
  }
  const figure = (name) => html("div", { class: "cl-figure" },
    html("div", { class: "cl-caption" }, chip(PARTS[name].role, name), " ", captions[name]), grids[name].box);
  const column = (above, below) => html("div", { class: "cl-left" }, figure(above), figure(below));
  const stage = html("div", { class: "cl-stage cl-top" }, column("d", "g"), column("V", "U"), column("M", "y"));
  const story = sentence(page);
  const title = html("div", { class: "cl-title" });
  const counts = html("div", { class: "cl-counts" });

  page.root.append(
    title,
    guide(page),
    html("div", { class: "cl-bar" },
      html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, "outputs of a tile"),
        segments(page, { name: "m", label: "outputs of a tile", options: [["2", "2"], ["4", "4"], ["6", "6"]] })),
      html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, "dimensions"),
        segments(page, { name: "dimensions", label: "dimensions", options: [["1", "1"], ["2", "2"]] }))),
    stage,
    player(page, {
      name: "step", label: "step", count: () => SAID.length, pause: 1500,
      say: (state) => `step ${state.step + 1} of ${SAID.length}`,
    }),
    story,
    html("div", { class: "cl-panel" }, counts));

  return function draw(state) {
    const { m, dimensions, step } = state;
    const [tile, matrices] = [page.data("tiles")[dimensions][m], page.data("matrices")[m]];
    const n = Number(m) + 2;
    const few = n ** Number(dimensions);
    const many = (3 * Number(m)) ** Number(dimensions);
    if (under && step < PARTS[under.part].step) under = null;
    const marks = marksOf(under, tile, matrices, dimensions, step);
    title.textContent = say("finding", { few, many });
    story.textContent = under ? tell(under, tile, marks, dimensions) : SAID[step];

    for (const [name, part] of Object.entries(PARTS)) {
      const numbers = tile[name];
      const known = step >= part.step;
      captions[name].textContent = part.formula[dimensions];
      grids[name].draw({
        rows: numbers.length, columns: numbers[0].length, height: m === "6" ? 28 : 34, width: m === "6" ? 40 : 48, digits: m === "2" ? 2 : 5,
        start: { row: 0, column: 0 },
        cell(i, j) {
          if (!known) return { kind: "cl-empty" };
          const mark = marks[name]?.[i]?.[j];
          return { kind: `cl-${part.role} ${mark === undefined ? "" : "cl-lit"}`, text: numbers[i][j], corner: mark || "" };
        },
        frames: under?.part === name ? [{ name: "window", row: under.row, column: under.column }] : [],
        label: `${part.long}, ${numbers.length} by ${numbers[0].length}. ` +
          (known ? `First row: ${numbers[0].join(", ")}. ${story.textContent}` : "Not computed yet."),
      });
    }
    counts.replaceChildren(
      count("workspace", few, "multiplications with this tile"),
      count("output", many, `by the definition: ${3 ** Number(dimensions)} for each of the ${m ** Number(dimensions)} outputs`),
      count("workspace", `${fixed(many / few, 2)}×`, "fewer"));
    const least = [grids.d, grids.V, grids.M].reduce((sum, grid) => sum + grid.least, 90);
    stage.style.flexWrap = least < page.width() ? "nowrap" : "wrap"; // a little shrinking beats a second line
  };
}

const count = (role, value, words) => html("div", { class: "cl-count" },
  html("b", { class: `cl-chip cl-${role}` }, value), html("span", {}, words));

/** Which cells have to do with the one under the pointer: part -> row -> column -> its coefficient, or "". */
function marksOf(under, tile, matrices, dimensions, step) {
  if (!under) return {};
  const here = [under.row, under.column];
  const cells = (name, mark) => tile[name].map((row, i) => row.map((_, j) => mark([i, j])));
  const same = ([i, j]) => (i === here[0] && j === here[1] ? "" : undefined);
  if (under.part === "M") return { V: cells("V", same), U: cells("U", same) };
  const marks = {};
  const { from, by } = PARTS[under.part];
  const nonzero = (value) => (value[0] === 0 ? undefined : fraction(value));
  if (from) marks[from] = cells(from, (there) => nonzero(coefficient(matrices[by], dimensions, here, there)));
  for (const [name, part] of Object.entries(PARTS)) { // where the cell itself goes
    if (part.from !== under.part || under.part === "M" || step < part.step) continue;
    const goes = (there) => coefficient(matrices[part.by], dimensions, there, here)[0] !== 0;
    marks[name] = cells(name, (there) => (goes(there) ? "" : undefined));
  }
  return marks;
}

/** One sentence on the cell under the pointer. */
function tell({ part, row, column }, tile, marks, dimensions) {
  const name = (which, i, j) => `${which}[${dimensions === "1" ? j : `${i}, ${j}`}]`;
  const value = tile[part][row][column];
  const listed = (which) => marks[which].flatMap((line, i) =>
    line.flatMap((mark, j) => (mark === undefined ? [] : [{ mark, cell: name(which, i, j) }])));
  if (part === "M") {
    return `${name("M", row, column)} = ${name("V", row, column)} × ${name("U", row, column)} = ` +
      `${tile.V[row][column]} × ${tile.U[row][column]} = ${value}: one multiplication.`;
  }
  if (!PARTS[part].from) {
    const goes = Object.keys(marks)[0];
    const where = goes ? `goes into ${plural(listed(goes).length, "cell")} of ${goes}` : "goes into the next step";
    return `${name(part, row, column)} = ${value} ${where}.`;
  }
  const terms = listed(PARTS[part].from);
  const written = terms.map(({ mark, cell }, i) => {
    const size = mark.replace("−", "");
    const sign = mark.startsWith("−") ? (i ? " − " : "−") : i ? " + " : "";
    return `${sign}${size === "1" ? "" : `${size}·`}${cell}`;
  });
  const sum = terms.length <= 9 ? written.join("") : `a sum of ${terms.length} terms`;
  return `${name(part, row, column)} = ${sum} = ${value}.`;
}

const NAMES = ["m", "dimensions", "step"];
export default { render: (context) => live(context, { kind: "winograd", names: NAMES, build }) };
