// The picture of a pyramid over a cut: a line of rows for every array, the result on top, and the cut to drag.

import { bytesText, plural } from "./shared/numbers.js";
import { clamp, OWN_KEYS, svg } from "./shared/page.js";
import { twiceOf } from "./pyramid.js";

const [GAP, TOP, GRIP] = [5, 44, 22]; // pixels: between lines, above the result, from the top to the middle of the grip
const MACHINES = ["input", "filter"]; // the colours of the two
const NEAR = 22; // pixels from the cut that a finger may miss it by

/** The drawing, and `draw(all, state)`; `move(row)` is called with where the cut is to be. */
export function pyramidScene(page, move) {
  let scale = { left: 0, unit: 1, rows: 2 }; // as drawn last
  const stripes = `${page.root.id}-stripes`;
  const grip = svg("g", {
    role: "slider", tabindex: 0, "aria-label": "cut through the result", "aria-orientation": "horizontal", ...OWN_KEYS,
    style: "cursor: ew-resize", onkeydown: page.guard((event) => key(event)),
  },
  svg("rect", { x: -NEAR, y: -20, width: 2 * NEAR, height: 40, fill: "transparent" }),
  svg("circle", { r: 11, style: "fill: var(--cl-ink)" }),
  svg("path", { d: "M-3 -4L-7 0L-3 4ZM3 -4L7 0L3 4Z", style: "fill: var(--cl-paper)" }));
  const [cells, marks] = [svg("g"), svg("g")];
  const line = svg("path", { class: "cl-frame cl-frame-followed", style: "transition: none" });
  const node = svg("svg", {
    role: "group", style: "touch-action: pan-y pinch-zoom; cursor: pointer",
    onpointerdown: page.guard((event) => {
      if (Math.abs(placed(event) - scale.at) * scale.unit > NEAR) return; // elsewhere a click, so that one can scroll
      node.setPointerCapture(event.pointerId);
      event.preventDefault();
      grip.focus({ preventScroll: true });
    }),
    onpointermove: page.guard((event) => node.hasPointerCapture(event.pointerId) && to(Math.round(placed(event)))),
    onclick: page.guard((event) => to(Math.round(placed(event)))),
  }, svg("defs", {}, stripesOf(stripes)), cells, marks, line, grip);

  /** Where the pointer is, in rows of the result. */
  const placed = (event) => {
    const box = node.getBoundingClientRect();
    return ((event.clientX - box.left) * (node.viewBox.baseVal.width / box.width) - scale.left) / scale.unit;
  };
  const to = (row) => {
    const cut = clamp(row, 1, scale.rows - 1);
    if (cut !== scale.at) move(cut);
  };
  const key = (event) => {
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -4, PageUp: 4, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    to(scale.at + steps[event.key]);
  };

  const draw = (all, state) => {
    const width = page.width() - 34;
    const wide = width >= 600;
    const [left, right, high] = wide ? [62, 172, 21] : [18, 58, 19];
    const pixel = (width - left - right) / state.H; // of a row of the picture
    const units = all.lines.map((_, at) => pixel * (at ? all.numbers.stride : 1));
    const y = (at) => TOP + (all.lines.length - 1 - at) * (high + GAP);
    const x = (at, row) => Math.min(left + row * units[at], left + state.H * pixel);
    scale = { left, unit: units.at(-1), rows: all.rows, at: all.cut };
    const height = y(0) + high + 24;
    const text = (at, down, words, more = {}) => svg("text", { x: at, y: down, class: "cl-tick", ...more }, words);

    const drawn = all.lines.flatMap((one, at) => [
      ...Array.from({ length: one.size }, (_, row) => {
        const both = row >= one.made[1][0] && row < one.made[0][1];
        const kind = both ? "" : `cl-${MACHINES[row < one.cut ? 0 : 1]}`;
        return svg("rect", {
          x: x(at, row) + 0.5, y: y(at), width: Math.max(x(at, row + 1) - x(at, row) - 1, 1), height: high, rx: 1.5,
          class: `cl-cell ${kind}`, ...(both && { style: `fill: url(#${stripes}); stroke: var(--cl-ink)`, "data-both": "" }),
        });
      }),
      text(left - 6, y(at) + high / 2, nameOf(at, all, wide), { "text-anchor": "end" }),
      text(left + state.H * pixel + 8, y(at) + high / 2, noteOf(one, at, all, wide)),
    ]);
    const ticks = Array.from({ length: Math.ceil(state.H / 8) }, (_, i) =>
      text(x(0, 8 * i + 0.5), y(0) + high + 13, `${8 * i}`, { "text-anchor": "middle" }));
    if (wide) ticks.push(text(left - 6, y(0) + high + 13, "row", { "text-anchor": "end" }));
    const rows = [all.cut, all.rows - all.cut];
    const machines = [0, 1].map((side) => text(side ? left + state.H * pixel : left, 6,
      `machine ${side + 1}${wide ? `: ${plural(rows[side], "row")}` : ""}`,
      { "text-anchor": side ? "end" : "start", class: "cl-note-text cl-strong" }));
    cells.replaceChildren(...drawn, ...ticks, ...machines);
    marks.replaceChildren(...borders(all, { x, y, high }), ...all.lines.flatMap((one, at) => messageOf(one, at, { x, y, high })));

    const middle = x(all.lines.length - 1, all.cut);
    line.setAttribute("d", `M${middle} ${GRIP}V${y(0) + high + 4}`);
    grip.setAttribute("transform", `translate(${middle} ${GRIP})`);
    for (const [name, value] of [["min", 1], ["max", all.rows - 1], ["now", all.cut]]) grip.setAttribute(`aria-value${name}`, value);
    grip.setAttribute("aria-valuetext", `machine 1 computes ${plural(rows[0], "row")} of the result, machine 2 ${rows[1]}`);
    node.setAttribute("viewBox", `0 0 ${width} ${height}`);
    node.setAttribute("width", width);
    node.setAttribute("height", height);
    node.setAttribute("aria-label", labelOf(all));
  };
  return { node, draw };
}

/** Stripes in the colours of both machines. */
function stripesOf(id) {
  const stripe = (x, role) => svg("rect", { x, width: 4, height: 8, style: `fill: var(--cl-${role})` });
  return svg("pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    stripe(0, MACHINES[0]), stripe(4, MACHINES[1]));
}

const nameOf = (at, { lines }, wide) =>
  (at === 0 ? (wide ? "picture" : "x") : at === lines.length - 1 ? (wide ? "result" : "y") : wide ? `layer ${at}` : `${at}`);

/** What crosses the network before the next layer, and what is computed twice. */
function noteOf(line, at, { bytes }, wide) {
  const [one, other] = line.sent;
  const [sent, twice] = [one + other, twiceOf(line)];
  if (sent) return wide ? `${one} + ${other} sent, ${bytesText(sent * bytes[at])}` : bytesText(sent * bytes[at]);
  return twice ? `${twice}${wide ? " computed" : ""} twice` : "";
}

/** The edges of both pyramids: from the cut, where a group of layers ends, down to where it begins. */
function borders({ lines, every }, { x, y, high }) {
  const parts = [];
  for (let first = 0; first < lines.length - 1; first += every) {
    const last = Math.min(first + every, lines.length - 1);
    for (const side of [0, 1]) {
      const edge = (at) => {
        const line = lines[at];
        if (at === first) return x(at, line.cut + (side ? -line.sent[1] : line.sent[0]));
        return x(at, at === last ? line.cut : line.made[side][1 - side]);
      };
      const points = [];
      for (let at = last; at >= first; at--) points.push(`${edge(at)} ${y(at)}V${y(at) + high}`);
      parts.push(svg("path", {
        d: `M${points.join("L")}`, class: "cl-edge", style: `fill: none; stroke: var(--cl-${MACHINES[side]}); stroke-width: 3; stroke-linejoin: round`,
      }));
    }
  }
  return parts;
}

/** The rows that each machine gets, outlined, with an arrow to where they go. */
function messageOf({ cut, sent }, at, { x, y, high }) {
  return [0, 1].flatMap((side) => {
    if (!sent[side]) return [];
    const [from, to] = side ? [x(at, cut - sent[1]), x(at, cut)] : [x(at, cut), x(at, cut + sent[0])];
    const [middle, head] = [y(at) + high / 2, Math.min(6, (to - from) / 2 - 1)];
    const [tail, tip] = side ? [from + 3, to - 2] : [to - 3, from + 2];
    const back = side ? tip - head : tip + head;
    return [
      svg("rect", { x: from + 1, y: y(at) - 1, width: Math.max(to - from - 2, 2), height: high + 2, rx: 2, class: "cl-frame", style: "stroke-width: 2" }),
      svg("path", { d: `M${tail} ${middle}H${back}`, class: "cl-arrow" }),
      svg("path", { d: `M${tip} ${middle}L${back} ${middle - head}V${middle + head}Z`, class: "cl-arrow-head" }),
    ];
  });
}

function labelOf({ lines, cut, rows }) {
  const told = lines.map((line, at) => {
    const name = at ? `layer ${at}` : "the picture";
    const [one, other] = line.sent;
    return [one + other && `${one} and ${other} rows of ${name} are sent`, twiceOf(line) && `computed twice: ${plural(twiceOf(line), "row")} of ${name}`];
  }).flat().filter(Boolean);
  return `Rows of every array from the picture below to the result above, cut after ${cut} of ${rows} rows of the result. ` +
    `${told.length ? told.join("; ") : "Nothing is sent, and nothing computed twice"}.`;
}
