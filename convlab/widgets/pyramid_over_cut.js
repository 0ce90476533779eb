// A pyramid over a cut: the rows that two machines both need, and whether to send them or to compute them twice.

import { bytesText, countText, fixed, plural, timeText } from "./shared/numbers.js";
import { chip, html, live, more, segments, sentence, slider } from "./shared/page.js";
import { guide } from "./shared/guide.js";
import { scrollBox } from "./shared/scroll.js";
import { say } from "./shared/sentences.js";
import { sizesUp } from "./pyramid.js";
import { pyramidScene } from "./pyramid_scene.js";
import { BOTH, keyOf, partsKey, wayBars, wayTable, wayText } from "./pyramid_ways.js";

const rounded = (text) => text.replace(/\.0+(?= )/, ""); // "10.0 µs", a number that was chosen
const VALUES = {
  layers: (layers) => plural(layers, "layer"),
  H: (rows) => plural(rows, "row"),
  W: (columns) => plural(Number(columns), "column"),
  C: (channels) => plural(Number(channels), "channel"),
  flops: (rate) => `${rounded(countText(Number(rate)))}FLOP/s`,
  latency: (seconds) => rounded(timeText(Number(seconds))),
  bandwidth: (rate) => `${rounded(countText(Number(rate)))}B/s`,
};

function build(page) {
  const choices = page.data("choices");
  const words = {};
  const steps = (name) => choices[name] ?? Array.from(
    { length: page.limits(name)[1] - page.limits(name)[0] + 1 }, (_, i) => page.limits(name)[0] + i);
  const scaled = (name, label) => html("label", { class: "cl-field cl-grows" },
    html("span", { class: "cl-knob" }, `${label} `, (words[name] = html("b"))), slider(page, {
      name, label, count: () => steps(name).length, say: (state) => VALUES[name](state[name]),
      at: { read: (state) => steps(name).indexOf(state[name]), write: (at) => ({ [name]: steps(name)[at] }) },
    }));
  const field = (name, control) => html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, name), control);
  const pick = (name, label, options, write) => field(label, segments(page, { name, label, options, write }));
  // With another stride the cut stays where it is in the picture.
  const strided = (stride) => ({ stride, cut: Math.max(Math.round((page.state().cut * Number(page.state().stride)) / Number(stride)), 1) });

  const [title, story, costs] = [html("div", { class: "cl-title" }), sentence(page), html("div")];
  const scene = pyramidScene(page, (cut) => page.set({ cut }));
  const bars = wayBars(page, page.limits("every")[1]);
  page.root.append(
    title,
    guide(page),
    html("div", { class: "cl-bar" },
      scaled("layers", "layers"),
      pick("taps", "filter", ["1", "3", "5", "7"].map((taps) => [taps, `${taps} × ${taps}`])),
      scaled("latency", "latency")),
    html("div", { class: "cl-figure", style: "margin-bottom: 6px" }, scene.node),
    html("div", { class: "cl-caption" },
      chip("input", "machine 1"), " ", chip("filter", "machine 2"),
      keyOf(`background: ${BOTH}`, "both compute it"), " ", keyOf("border: 2px solid var(--cl-active)", "sent")),
    story,
    more(
      html("div", { class: "cl-bar cl-tight" },
        pick("stride", "stride of the first layer", [["1", "1"], ["2", "2"]], strided), pick("dilation", "dilation", [["1", "1"], ["2", "2"]])),
      html("div", { class: "cl-bar" }, scaled("H", "H"), scaled("W", "W"), scaled("C", "C = K"),
        scaled("flops", "each machine"), scaled("bandwidth", "bandwidth"))),
    html("div", { class: "cl-caption" }, "seconds, spent on: ", partsKey()),
    bars.node,
    html("div", { class: "cl-panel" }, scrollBox(page, costs),
      html("div", { class: "cl-note" }, "Messages go both ways at once. The slower machine counts. A message takes latency + bytes / bandwidth, and nothing is computed meanwhile.")));

  return function draw(state) {
    const all = sizesUp(state);
    for (const [name, word] of Object.entries(words)) word.textContent = VALUES[name](state[name]).replace(/^(\d+) layers?$/, "$1");
    title.textContent = finding(state, all);
    story.textContent = `${border(state, all)}. ${verdict(all)}.`;
    scene.draw(all, state);
    bars.draw(all);
    costs.replaceChildren(wayTable(all));
  };
}

const finding = ({ layers }, { cost, every }) => (cost.messages ? say("finding", {
  way: wayText(every, layers), messages: plural(cost.messages, "message"), bytes: bytesText(cost.bytes), share: fixed(100 * cost.share, 1),
}) : say("alone"));

/** How thick the border is in the picture where it is sent once. */
function border({ layers, taps }, { border: [one, other] }) {
  const rows = say(one === other ? "even" : "uneven", { one: plural(one, "row"), other: plural(other, "row") });
  return say("border", { layers: plural(layers, "layer"), taps, rows });
}

/** Which way is the cheapest, and what the ends of the scale take. */
function verdict({ ways, best }) {
  const way = (every) => ({ way: wayText(every, ways.length), time: timeText(ways[every - 1].seconds) });
  if (!best) return say("alike", way(1));
  const others = [...new Set([1, ways.length])].filter((every) => every !== best);
  return [say("cheapest", way(best)), ...others.map((every) => say("other", way(every)))].join("; ");
}

const NAMES = [
  "layers", "cut", "every", "H", "taps", "stride", "dilation", "W", "C", "flops", "latency", "bandwidth", "choices",
];
export default { render: (context) => live(context, { kind: "pyramid", names: NAMES, build }) };
