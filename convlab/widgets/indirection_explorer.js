// The indirection explorer: an output pixel and its row of places; a place and its pixel and tap.

import { letters, readersOf, whyNot, windowOf } from "./shared/formulas.js";
import { digits, plural } from "./shared/numbers.js";
import { chip, html, live, more, numberBox, player, sentence } from "./shared/page.js";
import { Grid } from "./shared/grid.js";
import { guide } from "./shared/guide.js";
import { say } from "./shared/sentences.js";
import { bufferOf, resizeOf } from "./indirection.js";

const SIZES = ["N", "H", "W", "C", "R", "S", "stride", "padding", "rows"];

const problemOf = ({ N, H, W, C, R, S, stride, padding }) => ({
  ...{ N, H, W, C, K: 1, R, S, dilation: [1, 1] },
  ...{ stride: [stride, stride], padding: [[padding, padding], [padding, padding]] },
});
const outputs = (state) => {
  const { P, Q } = letters(problemOf(state));
  return whyNot(problemOf(state)) ? 0 : P * Q;
};

/** What the last change left: the library's word for it, tiles kept, and the change in words. */
export function changeOf(state) {
  const { was } = state;
  const changed = SIZES.filter((name) => name in was && was[name] !== state[name]);
  const said = changed.map((name) => `${name} from ${was[name]} to ${state[name]}`).join(", ");
  if (whyNot(problemOf(was)) || changed.some((name) => !"NHW".includes(name))) {
    return { word: "all", kept: 0, said: `${said}: another plan` };
  }
  return { ...resizeOf(problemOf(was), problemOf(state), state.rows), said };
}

function build(page) {
  let pointed = null; // { m, t }: the window and the tap under the pointer, either may be missing
  const point = (to) => { pointed = to; page.refresh(); };
  const image = new Grid(page, {
    role: "input pixels",
    look(at) { const pad = page.state().padding; point(at && { h: at.row - pad, w: at.column - pad }); },
  });
  const zeros = new Grid(page, { role: "row of zeros" });
  zeros.node.setAttribute("tabindex", -1);
  const output = new Grid(page, {
    role: "output pixels",
    look(at) { point(at && { m: at.row * letters(problemOf(page.state())).Q + at.column }); },
    choose(at) { if (at) page.set({ step: at.row * letters(problemOf(page.state())).Q + at.column }); },
  });
  const placeOf = (at) => {
    const { rows } = page.state();
    const m = Math.min(at.row * rows + (at.column % rows), outputs(page.state()) - 1);
    return { m, t: Math.floor(at.column / rows), tile: at.row, column: at.column };
  };
  const buffer = new Grid(page, {
    role: "indirection buffer",
    look(at) { point(at && placeOf(at)); },
    choose(at) { if (at) page.set({ step: placeOf(at).m }); },
  });

  const words = Object.fromEntries(["image", "zeros", "output", "buffer"].map((name) => [name, html("span")]));
  const title = html("div", { class: "cl-title" });
  const story = sentence(page);
  const change = html("div", { class: "cl-change", role: "status" });
  const trouble = html("div", { class: "cl-trouble", role: "status" });
  const figure = (grid, role, name, key) => html("div", { class: "cl-figure cl-gone" },
    html("div", { class: "cl-caption" }, chip(role, name), " ", words[key]), grid.box);
  const knob = (name, label = name, most = null) => html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, label),
    numberBox(page, {
      name, label, ...(most ? { limits: most } : {}),
      at: {
        read: (state) => state[name],
        // The sizes before this change stay known: they decide what must be made anew.
        write: (value) => {
          const state = page.state();
          const was = Object.fromEntries(SIZES.map((size) => [size, state[size]]));
          return { [name]: value, ...(value === state[name] ? {} : { was }) };
        },
      },
    }));
  const imageKnob = html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, "image"),
    numberBox(page, {
      name: "image", label: "image of the batch",
      at: { read: (state) => Math.min(state.image, state.N - 1), end: (state) => state.N - 1 },
    }));

  const stage = html("div", { class: "cl-stage cl-top" },
    html("div", { class: "cl-left" }, figure(image, "input", "x", "image"), figure(zeros, "workspace", "zeros", "zeros")),
    figure(output, "output", "y", "output"), trouble);
  page.root.append(
    title,
    guide(page),
    html("div", { class: "cl-bar cl-tight" }, knob("H"), knob("N", "batch N")),
    more(html("div", { class: "cl-bar cl-tight" }, ["W", "C", "R", "S", "stride", "padding"].map((name) => knob(name)),
      knob("rows", "pixels in a tile"), imageKnob)),
    change,
    stage,
    player(page, {
      name: "step", label: "output pixel", count: outputs, pause: 600,
      say: (state) => (outputs(state) ? `pixel ${Math.min(state.step + 1, outputs(state))} of ${outputs(state)}` : "no output"),
    }),
    story,
    figure(buffer, "workspace", "buffer", "buffer"));

  return function draw(state) {
    const problem = problemOf(state);
    const broken = whyNot(problem);
    page.root.classList.toggle("cl-broken", Boolean(broken));
    trouble.textContent = broken ?? "";
    if (broken) {
      title.textContent = "These numbers are no convolution";
      for (const part of [story, change]) part.replaceChildren();
      return;
    }
    const { H, W, C, N, S, R, rows, padding: pad } = state;
    const { P, Q } = letters(problem);
    const table = bufferOf(problem, rows);
    const { word, kept, said } = changeOf(state);
    title.textContent = said === ""
      ? say("unchanged", { pixels: plural(P * Q, "output pixel"), places: plural(R * S, "place") })
      : say(word, { tiles: plural(table.length, "tile"), new: table.length - kept });
    if (said === "") change.textContent = REASONS.nothing;
    else change.replaceChildren(html("b", { class: `cl-word cl-word-${word}` }, word), `: ${said}. ${reasonOf(word, state)}`);

    const m = pointed && "m" in pointed ? pointed.m : Math.min(state.step, P * Q - 1);
    const t = pointed && "t" in pointed ? pointed.t : null;
    const taps = windowOf(problem, Math.floor(m / Q), m % Q);
    const pixel = pointed && "h" in pointed ? pointed : null;
    const readers = pixel ? readersOf(problem, pixel.h, pixel.w) : [];
    const number = Math.min(state.image, N - 1);
    const start = number * H * W * C;
    const here = t === null ? taps : [taps[t]];
    const pads = !pixel && here.some(({ inside }) => !inside);
    story.textContent = pixel ? toldPixel(problem, pixel, readers) : toldWindow(state, { table, taps, m, t, start, number, Q });

    const size = { width: 32, height: 26 };
    image.draw({
      ...size, rows: H + 2 * pad, columns: W + 2 * pad, start: { row: pad, column: pad },
      cell(i, j) {
        const [h, w] = [i - pad, j - pad];
        const inside = h >= 0 && h < H && w >= 0 && w < W;
        const lit = pixel ? pixel.h === h && pixel.w === w : here.some((tap) => tap.h === h && tap.w === w);
        return inside ? { kind: `cl-input ${lit ? "cl-lit" : ""}`, text: start + (h * W + w) * C } : { kind: `cl-padding ${lit ? "cl-lit" : ""}` };
      },
      frames: pixel ? [] : [{ name: "window", row: Math.floor(m / Q) * state.stride, column: (m % Q) * state.stride, rows: R, columns: S }],
      label: `Image ${number} of ${H} by ${W} pixels with ${plural(C, "channel")}. ${story.textContent}`,
    });
    zeros.draw({
      ...size, rows: 1, columns: C, cell: () => ({ kind: `cl-workspace ${pads ? "cl-lit" : ""}`, text: 0 }),
      label: `${plural(C, "zero")} that every tap on padding reads${pads ? ", read now" : ""}.`,
    });
    output.draw({
      ...size, rows: P, columns: Q, start: { row: Math.floor(m / Q), column: m % Q },
      cell(i, j) {
        const lit = pixel ? readers.some(({ p, q }) => p === i && q === j) : i * Q + j === m;
        return { kind: `cl-output ${lit ? "cl-lit" : ""}`, text: i * Q + j };
      },
      label: `Output of ${P} by ${Q} pixels. ${story.textContent}`,
    });
    const follows = (tile, tap, row) => {
      const own = Math.min(tile * rows + row, P * Q - 1);
      if (pixel) return readers.some(({ p, q, r, s }) => p * Q + q === own && r * S + s === tap);
      return own === m && (t === null || t === tap);
    };
    const wide = rows * R * S;
    const unit = wide <= 20 ? 34 : 27;
    buffer.draw({
      rows: table.length, columns: wide, width: unit, height: 22, group: rows, start: { row: Math.floor(m / rows), column: m % rows },
      rowNames: (i) => i,
      columnNames: (j) => (j % rows === 0 ? `${Math.floor(j / rows / S)},${Math.floor(j / rows) % S}` : ""),
      cell(i, j) {
        const [tap, row] = [Math.floor(j / rows), j % rows];
        const value = table[i][tap][row];
        const lit = follows(i, tap, row) ? "cl-lit" : "";
        return { kind: `cl-workspace ${i >= kept ? "cl-fresh" : ""} ${value < 0 ? "cl-outside" : ""} ${lit}`, text: value < 0 ? "−1" : value };
      },
      label: `Indirection buffer of ${plural(table.length, "tile")}, ${plural(R * S, "tap")} and ${plural(rows, "pixel")}. ${story.textContent}`,
    });
    words.image.textContent = `image ${number} of ${N}; the number is a pixel's place in memory`;
    words.zeros.textContent = "what padding reads";
    words.output.textContent = `${P} × ${Q}, counted row by row`;
    words.buffer.textContent = `${table.length} × ${R * S} × ${rows} = ${digits(table.length * R * S * rows)} numbers as they lie in memory: ` +
      `a line is a tile, a group is a tap (r,s)`;
  };
}

function reasonOf(word, { was, H }) {
  return word === "nothing" && was.H !== H ? `${REASONS.part} What lay below is cut off.` : REASONS[word];
}

const REASONS = {
  nothing: "The distances are the same for every image: only its start is added.",
  part: "Windows above the lower edge read what they read before.",
  all: "Every distance counts rows of W pixels, and every window may have moved.",
};

function toldPixel(problem, { h, w }, readers) {
  const inside = h >= 0 && h < problem.H && w >= 0 && w < problem.W;
  if (!inside) return "Padding is not in memory: windows that reach it are led to the zeros.";
  return `Pixel x[${h}, ${w}] is pointed at ${plural(readers.length, "time")}, and copied never.`;
}

function toldWindow({ rows, S }, { table, taps, m, t, start, number, Q }) {
  const [tile, row] = [Math.floor(m / rows), m % rows];
  const places = table[tile].map((tap) => tap[row]);
  const where = `y[${Math.floor(m / Q)}, ${m % Q}] is pixel ${row} of tile ${tile}`;
  if (t !== null) {
    const value = places[t];
    const tap = `${where}; tap r = ${Math.floor(t / S)}, s = ${t % S}`;
    if (value < 0) return `${tap}: −1, so the zeros${number ? `, whatever the image: −1 + ${start} would be a wrong pixel` : ""}.`;
    return `${tap}: x[${taps[t].h}, ${taps[t].w}], ${number ? `${start} + ${value} = ${start + value}` : `at ${value}`}.`;
  }
  const pads = places.filter((value) => value < 0).length;
  return `${where}: ${plural(places.length - pads, "place")} in the image${number ? `, each + ${start} for image ${number}` : ""}` +
    `${pads ? `, and ${pads} × −1 for the zeros` : ""}.`;
}

export default { render: (context) => live(context, { kind: "indirection", names: [...SIZES, "image", "step", "was"], build }) };
