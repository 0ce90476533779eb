// The window slides: one image, one filter, one output, and every number that decides where the window stands.

import { convolve, extent, facing, letters, readersOf, samePadding, whyNot, windowOf } from "./shared/formulas.js";
import { plural } from "./shared/numbers.js";
import { chip, html, live, more, numberBox, OWN_KEYS, player, sentence, toggle } from "./shared/page.js";
import { Grid } from "./shared/grid.js";
import { guide } from "./shared/guide.js";

const KNOBS = [
  ...["H", "W", "R", "S", "stride_h", "stride_w", "dilation_h", "dilation_w"],
  ...["pad_top", "pad_bottom", "pad_left", "pad_right"],
];

const problemOf = (state) => ({
  H: state.H, W: state.W, R: state.R, S: state.S,
  stride: [state.stride_h, state.stride_w],
  padding: [[state.pad_top, state.pad_bottom], [state.pad_left, state.pad_right]],
  dilation: [state.dilation_h, state.dilation_w],
});

const places = (state) => {
  const problem = problemOf(state);
  const { P, Q } = letters(problem);
  return whyNot(problem) ? 0 : P * Q;
};

function build(page) {
  const [pixels, taps] = [page.data("pixels"), page.data("taps")];
  let preview = null; // an output under the pointer: shown, but not kept
  let followed = null; // a pixel under the pointer, in cells of the padded image

  const image = new Grid(page, {
    role: "input pixels",
    look(cell) { followed = cell; page.refresh(); },
  });
  const filter = new Grid(page, { role: "filter taps" });
  const output = new Grid(page, {
    role: "output pixels",
    look(cell) { preview = cell; page.refresh(); },
    choose(cell) { if (cell) page.set({ step: cell.row * output.columns + cell.column }); },
  });

  const captions = { x: html("span"), w: html("span"), y: html("span") };
  const figure = (grid, role, name, caption) =>
    html("div", { class: "cl-figure" }, html("div", { class: "cl-caption" }, chip(role, name), " ", caption), grid.box);
  const trouble = html("div", { class: "cl-trouble", role: "status" });
  const story = sentence(page);
  const sizes = html("div", { class: "cl-sizes" });
  const products = html("div", { class: "cl-products" });
  const outputFigure = figure(output, "output", "y", captions.y);
  const equals = html("span", { class: "cl-sign cl-gone", "aria-hidden": "true" }, "=");
  outputFigure.classList.add("cl-gone");
  const stage = html("div", { class: "cl-stage" },
    figure(image, "input", "x", captions.x), html("span", { class: "cl-sign", "aria-hidden": "true" }, "∗"),
    figure(filter, "filter", "w", captions.w), equals, outputFigure, trouble);

  const row = (name, first, second) => [html("span", { class: "cl-knob" }, name),
    numberBox(page, { name: first[0], label: first[1] }), numberBox(page, { name: second[0], label: second[1] })];
  const setPadding = (pad_top, pad_bottom, pad_left, pad_right) => page.set({ pad_top, pad_bottom, pad_left, pad_right });
  const same = () => {
    const { H, W, R, S, stride, dilation } = problemOf(page.state());
    setPadding(...samePadding(H, R, stride[0], dilation[0]), ...samePadding(W, S, stride[1], dilation[1]));
  };
  const button = (text, action) =>
    html("button", { type: "button", class: "cl-button", onclick: page.guard(action), ...OWN_KEYS }, text);
  const knobs = html("div", { class: "cl-knobs", role: "group", "aria-label": "sizes" },
    html("span", {}), html("span", { class: "cl-head" }, "vertical"), html("span", { class: "cl-head" }, "horizontal"),
    row("input H, W", ["H", "H, input rows"], ["W", "W, input columns"]),
    row("filter R, S", ["R", "R, filter rows"], ["S", "S, filter columns"]),
    row("padding before", ["pad_top", "padding, top"], ["pad_left", "padding, left"]),
    row("padding after", ["pad_bottom", "padding, bottom"], ["pad_right", "padding, right"]),
    row("dilation", ["dilation_h", "dilation, vertical"], ["dilation_w", "dilation, horizontal"]),
    html("div", { class: "cl-wide" }, button("no padding", () => setPadding(0, 0, 0, 0)), button("“same” padding", same)),
    html("div", { class: "cl-wide" }, toggle(page, { name: "flip", label: "true convolution (filter rotated)" })));

  const stride = html("div", { class: "cl-bar cl-tight" }, [["stride, vertical", "stride_h"], ["stride, horizontal", "stride_w"]].map(([label, name]) =>
    html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, label), numberBox(page, { name, label }))));

  page.root.append(
    html("div", { class: "cl-title" }, "The window slides"), guide(page), stage, player(page, {
      name: "step", label: "output pixel", count: places,
      say: (state) => (places(state) ? `output ${Math.min(state.step + 1, places(state))} of ${places(state)}` : "no output"),
    }), story, stride, more(knobs), html("div", { class: "cl-panels" },
      html("div", { class: "cl-panel" }, html("div", { class: "cl-head" }, "The sum behind this output"), products),
      html("div", { class: "cl-panel" }, html("div", { class: "cl-head" }, "How large is the output?"), sizes)));

  return function draw(state) {
    const problem = problemOf(state);
    const { P, Q } = letters(problem);
    const broken = whyNot(problem);
    const w = facing(taps.slice(0, problem.R).map((line) => line.slice(0, problem.S)), state.flip);
    const [[top, bottom], [left, right]] = problem.padding;
    const step = Math.min(state.step, places(state) - 1);
    const at = broken ? null : preview ? { p: preview.row, q: preview.column } : { p: Math.floor(step / Q), q: step % Q };
    const corner = at && { row: at.p * problem.stride[0], column: at.q * problem.stride[1] };
    const reach = [extent(problem.R, problem.dilation[0]), extent(problem.S, problem.dilation[1])];
    const window = at ? windowOf(problem, at.p, at.q) : [];
    const tapAt = new Map(window.map((tap) => [`${tap.h},${tap.w}`, tap]));
    const follow = followed && !broken ? { h: followed.row - top, w: followed.column - left } : null;
    const readers = follow ? readersOf(problem, follow.h, follow.w) : [];
    const read = broken ? null : new Set(placesRead(problem, P, Q));

    image.draw({
      rows: problem.H + top + bottom, columns: problem.W + left + right, width: 32,
      rowNames: (i) => (i >= top && i < top + problem.H ? i - top : ""),
      columnNames: (i) => (i >= left && i < left + problem.W ? i - left : ""),
      start: corner,
      cell(i, j) {
        const [h, v] = [i - top, j - left];
        const inside = h >= 0 && h < problem.H && v >= 0 && v < problem.W;
        const tap = tapAt.get(`${h},${v}`);
        return {
          kind: `${inside ? "cl-input" : "cl-padding"} ${read && !read.has(`${h},${v}`) ? "cl-unread" : ""}`,
          text: inside ? pixels[h][v] : 0,
          corner: tap ? `×${w[tap.r][tap.s]}`.replace("-", "−") : "",
        };
      },
      frames: [
        ...(at ? [{ name: "window", ...corner, rows: reach[0], columns: reach[1] }] : []),
        ...(follow ? [{ name: "followed", ...followed }] : []),
      ],
      label: broken ? `Input of ${problem.H} by ${problem.W} pixels. ${broken}` : windowStory(problem, at, window),
    });
    const throughTap = (r, s) => readers.some((tap) => tap.r === r && tap.s === s);
    filter.draw({
      rows: problem.R, columns: problem.S, width: 32,
      cell: (r, s) => ({ kind: `cl-filter ${throughTap(r, s) ? "cl-lit" : ""}`, text: minus(w[r][s]) }),
      label: `Filter of ${problem.R} by ${problem.S} taps${state.flip ? ", rotated by 180 degrees" : ""}`,
    });
    captions.x.textContent = `input, ${problem.H} × ${problem.W}${top + bottom + left + right ? ", with its padding" : ""}`;
    captions.w.textContent = state.flip ? "filter, rotated 180°" : `filter, ${problem.R} × ${problem.S}`;

    stage.classList.toggle("cl-broken", Boolean(broken));
    trouble.textContent = broken ?? "";
    sizes.replaceChildren(...[["P", "H", "R", 0], ["Q", "W", "S", 1]].flatMap((names) => sizeLines(problem, names)));
    if (broken) {
      stage.style.flexWrap = "wrap";
      for (const part of [story, products]) part.replaceChildren();
      return;
    }

    const y = convolve(problem, pixels, w);
    output.draw({
      rows: P, columns: Q, width: 32, start: { row: at.p, column: at.q },
      rowNames: (i) => i, columnNames: (i) => i,
      cell(p, q) {
        const known = p * Q + q <= Math.max(step, at.p * Q + at.q);
        const lit = readers.some((reader) => reader.p === p && reader.q === q);
        return { kind: `${known ? "cl-output" : "cl-empty"} ${lit ? "cl-lit" : ""}`, text: known ? minus(y[p][q]) : "" };
      },
      frames: [{ name: "window", row: at.p, column: at.q }],
      label: `Output of ${P} by ${Q} pixels; y[${at.p}, ${at.q}] = ${y[at.p][at.q]}`,
    });
    const total = image.least + filter.least + output.least + 110; // side by side if a little shrinking is enough
    stage.style.flexWrap = total < page.width() ? "nowrap" : "wrap";
    captions.y.textContent = `output, ${P} × ${Q}`;
    story.replaceChildren(...(follow ? followStory(problem, pixels, follow, readers) : [windowStory(problem, at, window)]));
    products.replaceChildren(...productLines(problem, pixels, w, at, window, y[at.p][at.q]));
    if (state.flip) products.append(html("div", { class: "cl-note" }, turned(problem, pixels, taps, y)));
  };
}

const minus = (value) => String(value).replace("-", "−");

/** Every place that some output reads, as "row,column". */
function* placesRead(problem, P, Q) {
  for (let p = 0; p < P; p++) {
    for (let q = 0; q < Q; q++) yield* windowOf(problem, p, q).map((tap) => `${tap.h},${tap.w}`);
  }
}

function windowStory(problem, { p, q }, window) {
  const padded = window.filter((tap) => !tap.inside).length;
  const [rows, columns] = [extent(problem.R, problem.dilation[0]), extent(problem.S, problem.dilation[1])];
  const taps = `${plural(window.length, "tap")}: ${window.length - padded} on pixels`;
  return `y[${p}, ${q}] sees an area of ${rows} × ${columns} with ${taps}, ` +
    `${padded ? `${padded} on padding, where the input counts as 0` : "none on padding"}.`;
}

function followStory(problem, pixels, { h, w }, readers) {
  const inside = h >= 0 && h < problem.H && w >= 0 && w < problem.W;
  const what = inside ? `x[${h}, ${w}] = ${minus(pixels[h][w])}` : "This padding cell (0)";
  if (!readers.length) return [`${what} is read by no output: the window steps over it.`];
  const how = readers.length === 1 ? "" : ", each time through another tap";
  return [`${what} is read by ${plural(readers.length, "output")}${how}.`];
}

/** P or Q twice: with the letters, then with the numbers. */
function sizeLines(problem, [out, size, taps, axis]) {
  const [before, after] = problem.padding[axis];
  const [stride, dilation] = [problem.stride[axis], problem.dilation[axis]];
  const inner = problem[size] + before + after - extent(problem[taps], dilation);
  const result = Math.floor(inner / stride) + 1;
  const line = (start, pad, reach, steps, end) => html("div", { class: "cl-formula" }, start, "⌊",
    html("span", { class: "cl-fraction" },
      html("span", {}, chip("input", pad[0]), " + ", chip("padding", pad[1]), " + ", chip("padding", pad[2]), " − ",
        html("span", { class: "cl-together" }, reach[0], "·(", chip("filter", reach[1]), " − 1)"), " − 1"),
      html("span", {}, steps)), html("span", { class: "cl-together" }, "⌋ + 1", end));
  const [one, two] = axis ? ["left", "right"] : ["top", "bottom"];
  const lines = [
    line([chip("output", out), " = "], [size, one, two], ["dilation", taps], "stride", ""),
    line([chip("output", out), " = "], [problem[size], before, after], [dilation, problem[taps]], stride,
      [" = ", html("b", { class: result < 1 ? "cl-bad" : "" }, minus(result))]),
  ];
  const left = inner % stride;
  if (result >= 1 && left) {
    const word = axis ? "column" : "row";
    const last = left === 1 ? `last ${word} is` : `last ${left} ${word}s are`;
    const why = `${inner} is no multiple of ${stride}: the ⌊ ⌋ drops a part step, and the ${last} never reached.`;
    lines.push(html("div", { class: "cl-note" }, why));
  }
  return [html("div", { class: "cl-size" }, lines)];
}

/** The products in the shape of the filter, and their sum. */
function productLines(problem, pixels, w, { p, q }, window, sum) {
  const cells = window.map(({ r, s, h, w: column, inside }) =>
    html("span", { class: `cl-product ${inside ? "" : "cl-none"}` },
      chip(inside ? "input" : "padding", inside ? minus(pixels[h][column]) : "0"), "·", chip("filter", minus(w[r][s]))));
  return [
    html("div", { class: "cl-product-grid", style: `--columns: ${problem.S}` }, cells),
    html("div", { class: "cl-formula" }, chip("output", `y[${p}, ${q}]`),
      ` = sum of ${plural(window.length, "product")} = `, html("b", {}, minus(sum))),
  ];
}

function turned(problem, pixels, taps, y) {
  const straight = convolve(problem, pixels, taps.map((line) => line.slice(0, problem.S)));
  const differ = y.flat().filter((value, i) => value !== straight.flat()[i]).length;
  return `Turning the filter changes ${differ} of ${plural(y.flat().length, "output")}. ` +
    "Frameworks do not turn it, and still call it a convolution.";
}

const NAMES = [...KNOBS, "flip", "step"];
export default { render: (context) => live(context, { kind: "sliding", names: NAMES, build }) };
