// The chart of the roofline explorer: roofs as lines, the layer as points under them.

import { countText, fixed } from "./shared/numbers.js";
import { clamp, svg } from "./shared/page.js";

const [LEFT, RIGHT, UP] = [2 ** -4, 2 ** 12, 2 ** 3]; // FLOPs a byte: all layers of the networks, and room to move; peaks
const ROOM = 1.5; // times a number that lies beyond them, where the axis ends then

export const speedText = (rate) => `${countText(rate)}FLOP/s`;
export const intensityText = (value) => (fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0));

/** A power of ten on an axis: 0.1, 1000, 10 k. */
const tickText = (value) => (value < 1e4 ? `${Number(value.toPrecision(1))}` : countText(value).replace(/\.0+ /, " "));

/** Draw the roofs, and `here`: what `standing` gives, or `bare` where the algorithm serves no such layer. */
export function drawChart(page, chart, machine, algorithm, here, seconds, trail) {
  const wide = page.width() - 34;
  const [width, height, left, bottom, top] = [wide, clamp(wide * 0.5, 260, 400), 46, 34, 10];
  const narrow = wide < 520;
  const places = [here?.intensity, here?.counted].filter(Boolean);
  const [least, most] = [Math.min(LEFT, ...places.map((at) => at / ROOM)), Math.max(RIGHT, ...places.map((at) => at * ROOM))];
  const low = Math.min(machine.flops / 2 ** 8, (machine.memories.at(-1).rate * least) / 2);
  const high = Math.max(machine.flops * UP, ROOM * (here?.adds ?? 0));
  const scale = (value, from, to) => Math.log2(clamp(value, from, to) / from) / Math.log2(to / from);
  const px = (intensity) => left + (width - left - 6) * scale(intensity, least, most);
  const py = (speed) => height - bottom - (height - bottom - top) * scale(speed, low, high);
  const point = (x, y) => `${x.toFixed(2)} ${y.toFixed(2)}`;
  const label = (x, y, text, more = {}) => svg("text", { x, y, class: "cl-note-text", ...more }, text);
  const under = (x, y, text) => // a roof's name hides the lines below it, between its words, too
    svg("rect", { x: x - 3.2 * text.length, y: y - 11, width: 6.4 * text.length, height: 15, class: "cl-roof-paper" });
  const dashed = machine.measured ? "" : " cl-promised";

  const powers = (from, to) => {
    const all = [];
    for (let value = 10 ** Math.ceil(Math.log10(from)); value <= to; value *= 10) all.push(value);
    return all;
  };
  const grid = [
    ...powers(least, most).flatMap((value) => [
      svg("path", { d: `M${point(px(value), top)}V${height - bottom}`, class: "cl-rule" }),
      svg("text", { x: px(value), y: height - bottom + 12, class: "cl-tick", "text-anchor": "middle" }, tickText(value))]),
    ...powers(low, high).flatMap((value) => [
      svg("path", { d: `M${point(left, py(value))}H${width - 6}`, class: "cl-rule" }),
      svg("text", { x: left - 6, y: py(value), class: "cl-tick", "text-anchor": "end" }, tickText(value))]),
    label(width - 6, height - 3, "FLOPs for each byte", { "text-anchor": "end" }),
    label(left + 6, top + 10, "FLOPs a second"),
  ];

  const roofs = machine.memories.flatMap(({ name, rate }, i) => {
    const [begin, end] = [Math.max(least, low / rate), machine.flops / rate];
    const share = 0.25 + 0.4 * (i % 2);
    const at = begin ** (1 - share) * end ** share;
    const angle = (Math.atan2(py(end * rate) - py(begin * rate), px(end) - px(begin)) * 180) / Math.PI;
    const text = narrow ? name : `${name} ${countText(rate)}B/s`;
    const home = here?.home?.name === name ? " cl-home" : "";
    return [
      svg("path", { d: `M${point(px(begin), py(begin * rate))}L${point(px(end), py(end * rate))}`, class: `cl-roof${dashed}${home}` }),
      svg("g", { transform: `translate(${point(px(at), py(at * rate))}) rotate(${angle.toFixed(1)})` },
        under(0, 4, text),
        svg("text", { y: 4, class: "cl-roof-name", "text-anchor": "middle" }, text))];
  });
  const first = Math.min(...machine.memories.map(({ rate }) => machine.flops / rate));
  const flat = (speed, name, kind) => [
    svg("path", { d: `M${point(px(first), py(speed))}H${width - 6}`, class: `cl-roof ${kind}${dashed}` }),
    label(width - 8, py(speed) - 7, narrow ? name.replace("multiply-adds", "adds") : `${name} ${speedText(speed)}`, { "text-anchor": "end", class: "cl-roof-name" })];
  for (const [name, rate] of machine.more) {
    if (machine.measured && rate > 1.3 * machine.flops && rate < high && !narrow) roofs.push(...flat(rate, name, ""));
  }
  roofs.push(...flat(machine.flops, "multiply-adds", "cl-flat"));
  if (here?.ceiling && Math.abs(here.saves - 1) > 0.02) roofs.push(...flat(here.adds, `roof of ${algorithm.name}`, "cl-own-roof"));

  const marks = [];
  if (here) {
    const best = here.best ?? Math.min(here.adds, here.home.rate * here.intensity);
    const once = svg("circle", { cx: px(here.intensity).toFixed(2), cy: py(best).toFixed(2), r: 5, class: "cl-once" });
    marks.push(...trail.map(([x, y]) => svg("circle", { cx: px(x).toFixed(2), cy: py(y).toFixed(2), r: 2, class: "cl-trail" })), once);
  }
  if (here?.ceiling) {
    const [x, y] = [px(here.counted), py(here.ceiling)];
    marks.push(
      svg("path", { d: `M${point(x, y)}V${height - bottom}`, class: "cl-drop" }),
      svg("circle", { cx: x.toFixed(2), cy: y.toFixed(2), r: 7, class: "cl-stands" }),
    );
    if (seconds) {
      const fast = py(here.flops / seconds);
      marks.push(
        svg("path", { d: `M${point(x, y)}V${fast.toFixed(2)}`, class: "cl-gap" }),
        // Small enough to be seen within the point, where they meet.
        svg("path", { d: `M${point(x - 5, fast)}l5 -5l5 5l-5 5z`, class: "cl-took" }));
    }
  }
  const words = here?.ceiling
    ? `A point at ${intensityText(here.counted)} FLOPs a byte, at most ${speedText(here.ceiling)}; with each number moved once ${intensityText(here.intensity)} FLOPs a byte` +
      (seconds ? `; measured ${speedText(here.flops / seconds)}` : "")
    : "The algorithm does not serve the layer" + (here ? `; with each number moved once it has ${intensityText(here.intensity)} FLOPs a byte` : "");
  const lines = machine.memories.map(({ name, rate }) => `${name} ${countText(rate)}B/s`).join(", ");
  chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
  chart.setAttribute("width", width);
  chart.setAttribute("height", height);
  chart.setAttribute("aria-label", `Roofline of ${machine.name}: multiply-adds ${speedText(machine.flops)}, ${lines}. ${words}.`);
  chart.replaceChildren(...grid, ...roofs, ...marks);
}
