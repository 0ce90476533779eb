// Guesses and the truth on one axis: logarithmic where all are above zero, else linear.

import { numberText } from "./shared/numbers.js";
import { clamp, svg } from "./shared/page.js";
import { say } from "./shared/sentences.js";

const [HEIGHT, SIDE, LINE] = [96, 14, 60];
const [GUESS, TRUTH] = [14, 34]; // where the words of each stand

/** What is at most twice, and at least half, of the truth, or of one of its two ends. */
export function bandOf(ends) {
  const all = ends.flatMap((end) => [end / 2, end * 2]);
  return [Math.min(...all), Math.max(...all)];
}

/** Where a number lies between 0 and 1, and which numbers are written on the axis. */
export function scaleOf(values, ends) {
  const all = [...values, ...ends, ...bandOf(ends)].filter(Number.isFinite);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  if (least > 0) {
    const [low, high] = [Math.log10(least) - 0.15, Math.log10(most) + 0.15];
    return { kind: "logarithmic", at: (value) => (Math.log10(value) - low) / (high - low), ticks: decades(low, high) };
  }
  const room = (most / 2 - least / 2) * 0.16 || 1; // halves: the whole may be beyond all numbers
  const [low, high] = [least / 2 - room, most / 2 + room];
  return { kind: "linear", at: (value) => (value / 2 - low) / (high - low), ticks: steps(2 * low, 2 * high) };
}

/** Powers of ten, or 1, 2 and 5 of each where there are few. */
function decades(low, high) {
  const all = high - low;
  const leaps = Math.ceil(all / 6);
  const found = [];
  for (let power = Math.floor(low); power <= high; power += 1) {
    if (power % leaps === 0) found.push(10 ** power);
    if (all < 3.2) found.push(2 * 10 ** power, 5 * 10 ** power);
  }
  return found.filter((value) => Math.log10(value) >= low && Math.log10(value) <= high);
}

function steps(low, high) {
  const rough = high / 6 - low / 6;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((one) => one * unit >= rough);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
}

/** The drawing: a diamond for the first guess, a small one for a later one, a disc (with its ends) for what it is. */
export function guessAxis(width, { actual, ends, guesses }) {
  const scale = scaleOf([...guesses, actual], ends);
  const told = ends.length === 1 ? numberText(actual) : say("ends", { low: numberText(ends[0]), high: numberText(ends[1]) });
  const x = (value) => SIDE + clamp(scale.at(value), 0, 1) * (width - 2 * SIDE);
  const [from, to] = bandOf(ends).map(x);
  const [first, ...later] = guesses;
  const words = `On a ${scale.kind} axis: your guess ${numberText(first)}, the truth ${told}` +
    `${later.length ? `, your last guess ${numberText(later.at(-1))}` : ""}; shaded: ${say("within")}.`;
  return svg("svg", { class: "cl-guess-axis", viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": words },
    svg("rect", { class: "cl-guess-band", x: from, y: LINE - 11, width: to - from, height: 22 }),
    svg("line", { class: "cl-base", x1: 0, x2: width, y1: LINE, y2: LINE }),
    ticksOf(scale, x),
    flag(x(first), GUESS, width, `your guess: ${numberText(first)}`, { at: x(actual), text: `it is ${told}` }),
    flag(x(actual), TRUTH, width, `it is ${told}`),
    ends.length === 1 ? [] : svg("line", { class: "cl-guess-ends", x1: x(ends[0]), x2: x(ends[1]), y1: LINE, y2: LINE }),
    svg("circle", { class: "cl-guess-truth", cx: x(actual), cy: LINE, r: 6.5 }),
    later.map((value) => diamond(x(value), 4)),
    diamond(x(first), 7.5));
}

/** Ticks with as many of their numbers as there is room for. */
function ticksOf(scale, x) {
  let end = -Infinity;
  return scale.ticks.flatMap((value) => {
    const [text, at] = [numberText(value), x(value)];
    const half = 4 * text.length;
    const fits = at - half > end;
    if (fits) end = at + half;
    return [
      svg("line", { class: "cl-base", x1: at, x2: at, y1: LINE, y2: LINE + (fits ? 7 : 4) }),
      ...(fits ? [svg("text", { class: "cl-tick", x: at, y: LINE + 20, "text-anchor": "middle" }, text)] : []),
    ];
  });
}

/** Words above the line, with a pole down to it, which passes no words `below` on its way. */
function flag(at, y, width, text, below) {
  const { anchor, place } = standing(at, width, text);
  const blocked = below && covers(below, at, width);
  return [
    svg("line", { class: "cl-guess-pole", x1: at, x2: at, y1: (blocked ? TRUTH : y) + 7, y2: LINE }),
    svg("text", { class: "cl-tick cl-strong", x: place, y, "text-anchor": anchor }, text),
  ];
}

/** Where words over a place stand, so that they do not leave the drawing. */
function standing(at, width, text) {
  const half = 4 * text.length;
  const anchor = at < half ? "start" : at > width - half ? "end" : "middle";
  const place = anchor === "start" ? Math.max(at - 8, 0) : anchor === "end" ? Math.min(at + 8, width) : at;
  return { anchor, place, half };
}

function covers(words, at, width) {
  const { anchor, place, half } = standing(words.at, width, words.text);
  const from = place - { start: 0, middle: half, end: 2 * half }[anchor];
  return at > from - 4 && at < from + 2 * half + 4;
}

const diamond = (at, size) =>
  svg("path", { class: "cl-guess-mark", d: `M${at - size},${LINE} l${size},${-size} l${size},${size} l${-size},${size} z` });
