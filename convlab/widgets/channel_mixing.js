// Channel mixing: which filter reads which channel, for 1, 2, 4 ... groups, and what that costs.

import { letters, samePadding, tensorBytes } from "./shared/formulas.js";
import { bytesText, countText, fixed, plural, ratioText } from "./shared/numbers.js";
import { chip, html, live, more, numberBox, segments, sentence, slider } from "./shared/page.js";
import { Grid } from "./shared/grid.js";
import { guide } from "./shared/guide.js";
import { scrollBox } from "./shared/scroll.js";

const SIDE = 16; // cells along the picture's edges; each stands for C/16 channels, or filters

const stepsOf = (C) => [...new Set([1, 2, 4, 8, SIDE, C])];
const groupsOf = ({ channels, step }) => stepsOf(Number(channels)).at(Math.min(step, stepsOf(Number(channels)).length - 1));

/** The layer that is shown: as many filters as channels, stride 1, an output as large as the input. */
export function layerOf({ channels, size, taps }, groups) {
  const C = Number(channels);
  const padding = samePadding(size, taps, 1, 1);
  return {
    ...{ N: 1, H: size, W: size, C, K: C, R: taps, S: taps, groups, dtype: "float32" },
    ...{ stride: [1, 1], padding: [padding, padding], dilation: [1, 1] },
  };
}

/** FLOPs, weights, bytes moved if every array is moved once, and FLOPs for each byte. */
export function costOf(...layers) {
  const sum = (count) => layers.reduce((total, layer) => total + count(layer), 0);
  const flops = sum((layer) => {
    const { N, P, Q, K, R, S, C, G } = letters(layer);
    return (2 * N * P * Q * K * R * S * C) / G;
  });
  const weights = sum((layer) => tensorBytes(layer).w / letters(layer).b);
  const bytes = sum((layer) => Object.values(tensorBytes(layer)).reduce((a, b) => a + b));
  return { flops, weights, bytes, intensity: flops / bytes };
}

/** The name of this kind of layer. */
const kindOf = (groups, C) => (groups === 1 ? "full" : groups === C ? "depthwise" : "grouped");

function build(page) {
  let at = null; // the cell under the pointer
  const grid = new Grid(page, { role: "channel mixing matrix", look(cell) { at = cell; page.refresh(); } });
  const title = html("div", { class: "cl-title" });
  const caption = html("span");
  const story = sentence(page);
  const [costs, savings] = [html("div"), html("div", { class: "cl-note" })];
  const knob = (text, control) => html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, text), control);
  const groups = html("b", { class: "cl-steps" });

  page.root.append(
    title,
    guide(page),
    html("div", { class: "cl-player" }, html("span", { class: "cl-knob" }, "groups"),
      slider(page, {
        name: "step", label: "groups", count: ({ channels }) => stepsOf(Number(channels)).length,
        say: (state) => plural(groupsOf(state), "group"),
      }), groups),
    html("div", { class: "cl-stage cl-top" },
      html("div", { class: "cl-figure" },
        html("div", { class: "cl-caption" }, chip("filter", "w"), " ", caption), grid.box),
      html("div", { class: "cl-panel" }, scrollBox(page, costs), savings)),
    story,
    html("div", { class: "cl-bar cl-tight" },
      knob("channels and filters", segments(page, {
        name: "channels", label: "channels", options: ["16", "64", "256", "512"].map((C) => [C, C]),
      }))),
    more(html("div", { class: "cl-bar cl-tight" },
      knob("H = W", numberBox(page, { name: "size", label: "H and W" })),
      knob("R = S", numberBox(page, { name: "taps", label: "R and S" })))));

  return function draw(state) {
    const [C, G] = [Number(state.channels), groupsOf(state)];
    const [block, share] = [C / SIDE, C / G]; // channels in a cell; channels a filter reads
    const reads = (k, c) => Math.floor((k * block) / share) === Math.floor((c * block) / share);
    const layer = layerOf(state, G);
    const full = costOf(layerOf(state, 1));
    const now = costOf(layer);
    const mixing = layerOf({ ...state, taps: 1 }, 1);
    const pair = costOf(layer, mixing);

    title.textContent = G === 1
      ? `Every filter reads all ${C} channels`
      : `${G} groups: every filter reads ${plural(share, "channel")} of ${C}`;
    groups.textContent = G === C ? `${G} = C` : String(G);
    caption.textContent = `a row is ${block === 1 ? "a filter" : `${block} filters`}, a column ${block === 1 ? "a channel" : `${block} channels`}`;
    story.replaceChildren(tell({ at, block, share, reads, C, taps: state.taps }));
    grid.draw({
      rows: SIDE, columns: SIDE, width: 22, start: { row: 0, column: 0 },
      rowNames: (i) => (i % 4 ? "" : i * block), columnNames: (i) => (i % 4 ? "" : i * block),
      cell(k, c) {
        const lit = at && at.row === k && reads(k, c) ? "cl-lit" : "";
        if (!reads(k, c)) return { kind: "cl-empty" };
        return { kind: `cl-filter ${lit}`, text: share < block ? "╲" : "" };
      },
      frames: at ? [{ name: "followed", row: at.row, column: at.column }] : [],
      label: `Which filter reads which channel: ${plural(G, "group")}. ${story.textContent}`,
    });
    const line = (name, cost, kind = "") => html("tr", { class: kind },
      html("th", { scope: "row" }, name),
      [countText(cost.flops), countText(cost.weights), bytesText(cost.bytes), fixed(cost.intensity, 1)].map((text) =>
        html("td", {}, text)));
    const head = ["", "FLOPs", "weights", "bytes of x, w, y", "FLOPs per byte"];
    costs.replaceChildren(
      html("table", { class: "cl-costs" },
        html("thead", {}, html("tr", {}, head.map((text) => html(text ? "th" : "td", text ? { scope: "col" } : {}, text)))),
        html("tbody", {},
          line(`full ${state.taps} × ${state.taps}`, full),
          ...(G === 1 ? [] : [
            line(`${kindOf(G, C)} ${state.taps} × ${state.taps}`, now, "cl-now"),
            line("1 × 1, all channels", costOf(mixing)),
            line("these two together", pair, "cl-sum"),
          ]))));
    savings.textContent = G === 1
      ? "One group: nothing to save yet."
      : `${ratioText(full.flops / now.flops)} fewer FLOPs, and ${ratioText(full.intensity / now.intensity)} fewer for each byte. ` +
        `With a 1 × 1 layer that mixes the channels again: ${ratioText(full.flops / pair.flops)} fewer FLOPs than the full layer.`;
  };
}

/** One sentence on the cell under the pointer, or on the whole picture. */
function tell({ at, block, share, reads, C, taps }) {
  const range = (i, what) => (block === 1 ? `${what} ${i}` : `${what}s ${i * block} to ${(i + 1) * block - 1}`);
  if (!at) {
    const uses = share * taps * taps;
    return `Each number of x meets ${plural(uses, "weight")}: ${share} × ${taps} × ${taps}, ` +
      `${plural(share, "filter")} that ${share === 1 ? "reads" : "read"} its channel, ${plural(taps * taps, "tap")} each.`;
  }
  const [filters, channels] = [range(at.row, "filter"), range(at.column, "channel")];
  if (!reads(at.row, at.column)) return `${filters}, ${channels}: other groups. No weight, no work.`;
  if (share < block) return `${filters}, ${channels}: every filter reads one of them, its own.`;
  return `${filters}, ${channels}: ${block === 1 ? "it reads it" : "each reads them all"}, through ${plural(taps * taps, "tap")}.`;
}

const NAMES = ["channels", "step", "size", "taps"];
export default { render: (context) => live(context, { kind: "mixing", names: NAMES, build }) };
