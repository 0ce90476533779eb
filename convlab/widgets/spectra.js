// A convolution through frequencies: x, w and y above, their spectra below. The transforms are sums of their
// definition, not fast ones: for pictures as small as these that takes about a millisecond.

import { convolve } from "./shared/formulas.js";
import { plural } from "./shared/numbers.js";
import { say } from "./shared/sentences.js";
import { chip, clamp, html, live, segments, sentence, slider, toggle } from "./shared/page.js";
import { guide } from "./shared/guide.js";

const CELL = 6; // points of the drawing for one pixel

/** A filter of size x size taps, as `taps` of spectra.py. */
export function tapsOf(kind, size) {
  const middle = (size - 1) / 2;
  const half = Math.floor(size / 2);
  return Array.from({ length: size }, (_, r) => Array.from({ length: size }, (_, s) => {
    if (kind === "edges") return Math.sign(s - middle) / size ** 2;
    if (kind === "detail") return (r === half && s === half ? 1 : 0) - 1 / size ** 2;
    if (kind === "shift") return r === size - 1 && s === size - 1 ? 1 : 0;
    return 1 / size ** 2;
  }));
}

/** The discrete Fourier transform of a square { re, im }, flat; `sign` is -1 there and +1 back (not divided by n). */
export function transform({ re, im }, n, sign) {
  const waves = Array.from({ length: n }, (_, i) => [Math.cos((2 * Math.PI * i) / n), Math.sin((2 * Math.PI * i) / n)]);
  const lines = (from, along, across) => {
    const to = { re: new Float64Array(n * n), im: new Float64Array(n * n) };
    for (let line = 0; line < n; line++) {
      for (let f = 0; f < n; f++) {
        let [a, b] = [0, 0];
        for (let i = 0; i < n; i++) {
          const [cos, sin] = waves[(f * i) % n];
          const at = line * across + i * along;
          a += from.re[at] * cos - sign * from.im[at] * sin;
          b += from.im[at] * cos + sign * from.re[at] * sin;
        }
        to.re[line * across + f * along] = a;
        to.im[line * across + f * along] = b;
      }
    }
    return to;
  };
  return lines(lines({ re, im }, 1, n), n, 1);
}

/** x and w multiplied as spectra of x's size + zeros: { size, X, W, Y, y, wanted, wrong }. */
export function through(x, w, zeros, conjugate) {
  const size = x.length + zeros;
  const spectrum = (rows) => {
    const square = { re: new Float64Array(size * size), im: new Float64Array(size * size) };
    rows.forEach((row, i) => row.forEach((value, j) => (square.re[i * size + j] = value)));
    return transform(square, size, -1);
  };
  const [X, W] = [spectrum(x), spectrum(w)];
  const sign = conjugate ? -1 : 1;
  const Y = {
    re: X.re.map((a, i) => a * W.re[i] - X.im[i] * sign * W.im[i]),
    im: X.re.map((a, i) => a * sign * W.im[i] + X.im[i] * W.re[i]),
  };
  const back = transform(Y, size, 1).re;
  const wanted = convolve({
    H: x.length, W: x.length, R: w.length, S: w.length, stride: [1, 1], dilation: [1, 1],
    padding: [[0, w.length - 1], [0, w.length - 1]],
  }, x, w);
  const y = x.map((row, i) => row.map((_, j) => back[i * size + j] / size ** 2));
  const limit = 1e-3 * Math.max(...x.flat().map(Math.abs));
  const wrong = y.map((row, i) => row.map((value, j) => Math.abs(value - wanted[i][j]) > limit));
  return { size, X, W, Y, y, wanted, wrong };
}

const middleFirst = (i, n) => (i + Math.ceil(n / 2)) % n; // frequency 0 in the middle of the picture

/** How strong the colour of a frequency is: 1 for the largest, 0 for a thousandth of it, evenly by factors. */
export const strength = (share) => clamp(1 + Math.log10(share + 1e-9) / 3, 0, 1);

const THEMES = ["class", "data-theme", "data-jp-theme-light"]; // by which pages say that they are dark, figures/style.py

const grey = (value) => `rgb(${Array(3).fill(Math.round(clamp(255 * value, 0, 255))).join()})`;

function build(page) {
  const pixels = page.data("pixels");
  const names = ["x", "w", "y", "X", "W", "Y"];
  const captions = Object.fromEntries(names.map((name) => [name, html("span")]));
  const canvas = Object.fromEntries(names.map((name) => [name, html("canvas", { class: "cl-pixels", role: "img" })]));
  const roles = { x: "input", w: "filter", y: "output", X: "workspace", W: "workspace", Y: "workspace" };
  const figure = (name) => html("div", { class: "cl-figure" },
    html("div", { class: "cl-caption" }, chip(roles[name], name), " ", captions[name]), canvas[name]);
  const sign = (text) => html("span", { class: "cl-sign", "aria-hidden": "true" }, text);

  // Drag the lower right corner of the picture: the zeros follow.
  const drag = page.guard((event) => {
    const box = canvas.x.getBoundingClientRect();
    const reach = Math.max(event.clientX - box.left, event.clientY - box.top) / box.width;
    const [least, most] = page.limits("zeros");
    const wide = canvas.x.width / CELL;
    page.set({ zeros: clamp(Math.round(reach * wide) - pixels.length, least, most) });
  });
  let before = 0; // the zeros where a finger came down
  canvas.x.addEventListener("pointermove", (event) => event.buttons && drag(event));
  canvas.x.addEventListener("pointerdown", (event) => {
    canvas.x.setPointerCapture(event.pointerId);
    before = page.state().zeros;
    if (event.pointerType !== "touch") drag(event); // of a finger it may be the beginning of scrolling
  });
  canvas.x.addEventListener("pointercancel", page.guard(() => page.set({ zeros: before })));
  canvas.x.addEventListener("click", drag);
  canvas.x.classList.add("cl-drag");

  // Paint does not follow the page when it turns dark: the pictures are painted anew.
  const themes = new MutationObserver(page.refresh);
  for (const node of [document.documentElement, document.body]) themes.observe(node, { attributeFilter: THEMES });
  page.onEnd(() => themes.disconnect());

  const story = sentence(page);
  const position = (name, label, say) => {
    const [least, most] = page.limits(name);
    return slider(page, {
      name, label, count: () => most - least + 1, say,
      at: { read: (state) => state[name] - least, write: (value) => ({ [name]: value + least }) },
    });
  };
  const kinds = [["blur", "blur"], ["edges", "edges"], ["detail", "detail"], ["shift", "shift"]];
  const many = { taps: html("span", { class: "cl-steps" }), zeros: html("span", { class: "cl-steps" }) };
  const line = (name, control, count) => html("div", { class: "cl-player" }, html("span", { class: "cl-knob" }, name), control, count);
  page.root.append(
    html("div", { class: "cl-title" }, "A convolution is one product for each frequency"),
    guide(page),
    html("div", { class: "cl-spectra" },
      figure("x"), sign("∗"), figure("w"), sign("="), figure("y"),
      figure("X"), sign("·"), figure("W"), sign("="), figure("Y")),
    html("div", { class: "cl-note" },
      "Below: how strong each frequency is, slow waves in the middle, from a thousandth of the strongest to all of it."),
    story,
    html("div", { class: "cl-bar" },
      html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, "filter"),
        segments(page, { name: "kind", label: "filter", options: kinds })),
      toggle(page, { name: "forget", label: "forget the conjugate" })),
    line("taps", position("taps", "taps, rows and columns", (state) => `${state.taps} by ${state.taps} taps`), many.taps),
    line("zeros", position("zeros", "zeros behind the picture", (state) => plural(state.zeros, "zero")), many.zeros));

  /** Draw n x n cells; `paint(i, j)` returns a colour, or null for what the page shows through. */
  function fill(name, n, full, paint, label) {
    const surface = canvas[name];
    surface.width = surface.height = full * CELL;
    const pen = surface.getContext("2d");
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        const colour = paint(i, j);
        if (!colour) continue;
        pen.fillStyle = colour;
        pen.fillRect(j * CELL, i * CELL, CELL, CELL);
      }
    }
    surface.setAttribute("aria-label", label);
    return pen;
  }

  /** Mark cells by slanted lines and an outline around them. */
  function mark(pen, n, marked, colour) {
    pen.strokeStyle = colour;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        if (!marked(i, j)) continue;
        const [x, y] = [j * CELL, i * CELL];
        pen.lineWidth = 1;
        pen.beginPath();
        if ((i + j) % 2) pen.moveTo(x, y + CELL), pen.lineTo(x + CELL, y);
        pen.stroke();
        pen.lineWidth = 2;
        pen.beginPath();
        if (!marked(i - 1, j)) pen.moveTo(x, y), pen.lineTo(x + CELL, y);
        if (!marked(i + 1, j)) pen.moveTo(x, y + CELL), pen.lineTo(x + CELL, y + CELL);
        if (!marked(i, j - 1)) pen.moveTo(x, y), pen.lineTo(x, y + CELL);
        if (!marked(i, j + 1)) pen.moveTo(x + CELL, y), pen.lineTo(x + CELL, y + CELL);
        pen.stroke();
      }
    }
  }

  return function draw(state) {
    const w = tapsOf(state.kind, state.taps);
    const { size, X, W, Y, y, wanted, wrong } = through(pixels, w, state.zeros, !state.forget);
    const colour = (name) => getComputedStyle(page.root).getPropertyValue(`--cl-${name}`).trim();
    const rows = pixels.length;
    const all = rows + page.limits("zeros")[1]; // the place that the most zeros would take

    const pen = fill("x", rows, all, (i, j) => grey(pixels[i][j] / 255),
      `A portrait of ${rows} by ${rows} pixels, and ${plural(state.zeros, "line")} of zeros below it and on its right`);
    mark(pen, size, (i, j) => (i >= rows || j >= rows) && i >= 0 && j >= 0 && i < size && j < size, colour("padding"));
    const strongest = Math.max(...w.flat().map(Math.abs)) || 1; // of one tap, edges and detail have nothing but a zero
    const tint = { up: colour("filter"), down: colour("ink") };
    const filter = fill("w", state.taps, all, () => null, `Filter ${state.kind} of ${state.taps} by ${state.taps} taps`);
    w.forEach((line, i) => line.forEach((tap, j) => {
      filter.globalAlpha = Math.sqrt(Math.abs(tap) / strongest);
      filter.fillStyle = tap > 0 ? tint.up : tint.down;
      filter.fillRect(j * CELL, i * CELL, CELL, CELL);
    }));
    filter.globalAlpha = 1;
    filter.strokeStyle = tint.up;
    filter.strokeRect(1, 1, state.taps * CELL - 1, state.taps * CELL - 1);

    const most = Math.max(...y.flat().map(Math.abs)) || 1;
    const signed = Math.min(...wanted.flat()) < 0;
    const shade = (value) => grey(signed ? 0.5 + value / most / 2 : value / most);
    const bad = (i, j) => Boolean(wrong[i]?.[j]);
    const count = wrong.flat().filter(Boolean).length;
    const result = fill("y", rows, all, (i, j) => shade(y[i][j]), `Output; ${plural(count, "pixel")} wrong`);
    mark(result, rows, bad, colour("active"));

    for (const [name, { re, im }] of [["X", X], ["W", W], ["Y", Y]]) {
      const sizes = re.map((a, i) => Math.hypot(a, im[i]));
      const top = Math.max(...sizes) || 1;
      const surface = fill(name, size, size, () => null, `Spectrum ${name}: ${size} by ${size} frequencies, the slow ones in the middle`);
      surface.fillStyle = colour("workspace");
      for (let i = 0; i < size; i++) {
        for (let j = 0; j < size; j++) {
          surface.globalAlpha = strength(sizes[middleFirst(i, size) * size + middleFirst(j, size)] / top);
          surface.fillRect(j * CELL, i * CELL, CELL, CELL);
        }
      }
    }

    captions.x.textContent = `${rows} × ${rows}, with ${plural(state.zeros, "zero")}`;
    captions.w.textContent = `${state.kind}, ${state.taps} × ${state.taps}`;
    captions.y.textContent = count ? `${count} wrong` : "all right";
    captions.X.textContent = `${size} × ${size} frequencies`;
    captions.W.textContent = `${size} × ${size}`;
    captions.Y.textContent = state.forget ? "X · W" : "X · conj(W)";
    many.taps.textContent = `${state.taps} × ${state.taps}`;
    many.zeros.textContent = `${state.zeros}, needed: ${state.taps - 1}`;
    story.textContent = tell(count, rows * rows, state);
  };
}

function tell(count, total, { taps, zeros, forget }) {
  const [counts, behind] = [{ all: total, wrong: count, taps }, plural(zeros, "zero")];
  if (!count) return `${say("right", { ...counts, zeros: behind })}.`;
  if (forget) return `${say("flipped", counts)}.`;
  const there = `${zeros === 1 ? "is" : "are"} ${behind}`;
  return `${say("around", { ...counts, zeros: there, further: plural(taps - 1, "pixel") })}.`;
}

const NAMES = ["kind", "taps", "zeros", "forget"];
export default { render: (context) => live(context, { kind: "spectra-figure", names: NAMES, build }) };
