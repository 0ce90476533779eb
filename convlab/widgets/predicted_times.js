// Predicted times: a bar for every algorithm on one layer, cut into its phases, and these into what takes their time.

import { letters } from "./shared/formulas.js";
import { fixed, plural, ratioText, timeText } from "./shared/numbers.js";
import { html, live, more, OWN_KEYS, segments, select, sentence, slider } from "./shared/page.js";
import { guide } from "./shared/guide.js";
import { scrollBox } from "./shared/scroll.js";
import { say } from "./shared/sentences.js";
import { barChart, callOf, phasesText } from "./predicted_bars.js";
import { refusal } from "./refusals.js";
import { ranking, slowed } from "./prediction.js";
import { ALIKE, MODELS } from "python";

const WHAT = {
  nothing: "",
  computing: "with multiply-adds ten times slower",
  moving: "with caches and memory ten times slower",
  beginning: "with everything that is begun ten times slower",
};

/** The layer on show as a problem, and the reasons of those that do not serve it, by name. */
export function shownOf({ network, layer, own, batch, catalogue, refusals }) {
  const listed = catalogue[network]?.layers;
  const found = listed ? listed[Math.min(layer, listed.length - 1)] : ownLayer(own);
  const problem = { ...found, N: Number(batch), dtype: "float32" };
  const refused = MODELS.map((model) => [model.name, refusal(refusals, model, problem)]).filter(([, reason]) => reason);
  return { name: found.name, problem, refused: Object.fromEntries(refused) };
}

function ownLayer({ H, C, K, R, stride, depthwise }) {
  const pad = Math.floor(R / 2);
  return {
    name: "your layer", H, W: H, C, K: depthwise ? C : K, R, S: R, stride: [stride, stride], dilation: [1, 1],
    padding: [[pad, pad], [pad, pad]], groups: depthwise ? C : 1,
  };
}

/** A layer of a network as the numbers of an own layer. */
const numbersOf = ({ H, C, K, R, stride, groups }) => ({ H, C, K, R, stride: stride[0], depthwise: groups > 1 });

function build(page) {
  const { catalogue, machines, choices } = page.state();
  const title = html("div", { class: "cl-title" });
  const shape = html("div", { class: "cl-caption" });
  const values = {};
  const field = (name, ...controls) => html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, name), controls);
  const options = (words) => words.map((word) => [word, word]);
  /** The numbers on show, whoever's layer it is. */
  const numbers = (state) => (state.network === "own" ? state.own : numbersOf(shownOf(state).problem));
  const change = (name, value) => ({ network: "own", own: { ...numbers(page.state()), [name]: value } });
  const knob = (name, label, what) => html("label", { class: "cl-field cl-grows" },
    html("span", { class: "cl-knob" }, `${label} `, (values[name] = html("b"))), slider(page, {
      name, label: `${label}, ${what}s`, say: (state) => plural(numbers(state)[name], what),
      count: (state) => (name === "K" && numbers(state).depthwise ? 1 : choices[name].length),
      at: { read: (state) => choices[name].indexOf(numbers(state)[name]), write: (at) => change(name, choices[name][at]) },
    }));
  /** A few numbers side by side, of which the page's own state keeps only one. */
  const pick = (name, label, words) => segments(
    { ...page, onUpdate: (update) => page.onUpdate((state) => update({ [name]: String(Number(numbers(state)[name])) })) },
    { name, label, options: words, write: (value) => change(name, name === "depthwise" ? value === "1" : Number(value)) });
  const layers = html("select", {
    "aria-label": "layer", ...OWN_KEYS, onchange: page.guard(() => page.set({ layer: Number(layers.value), look: "" })),
  });
  const network = select(page, {
    name: "network", label: "network",
    options: [...Object.entries(catalogue).map(([name, { title: words }]) => [name, words]), ["own", "your own layer"]],
    write: (name) => (name === "own" ? { network: name, own: numbers(page.state()), look: "" } : { network: name, layer: 0, look: "" }),
  });
  const layerField = field("layer", layers);
  let listed = null;

  const bars = barChart(page);
  const story = sentence(page);
  const [refusals, why, then] = [html("div", { class: "cl-lessons cl-refused" }), html("div"), html("div")];
  const [phases, table, summary] = [html("div", { class: "cl-head" }), html("div"), html("div", { class: "cl-note" })];
  page.root.append(
    title, shape,
    guide(page),
    html("div", { class: "cl-bar cl-tight" }, layerField,
      field("ten times slower", segments(page, { name: "slower", label: "ten times slower", options: options(Object.keys(WHAT)) }))),
    more(
      html("div", { class: "cl-bar cl-tight" }, field("network", network),
        field("batch N", segments(page, { name: "batch", label: "batch N", options: options(["1", "2", "4", "8", "16", "32"]) }))),
      html("div", { class: "cl-tiling-sizes" },
        knob("H", "H = W", "pixel"), knob("C", "C", "channel"), knob("K", "K", "filter"), knob("R", "R = S", "tap")),
      html("div", { class: "cl-bar cl-tight" },
        field("stride", pick("stride", "stride", options(["1", "2"]))),
        field("filters read", pick("depthwise", "filters read", [["0", "all channels"], ["1", "one each"]]))),
      html("div", { class: "cl-bar" },
        field("machine", select(page, { name: "machine", label: "machine", options: Object.entries(machines).map(([name, [words]]) => [name, words]) })))),
    html("div", { class: "cl-caption" }, "predicted time, spent on: ", ["computing", "moving", "beginning"].flatMap((kind) =>
      [html("span", { class: `cl-swatch cl-part cl-${kind}`, "aria-hidden": "true" }), ` ${kind} `])),
    bars.node, story,
    html("div", { class: "cl-panels" }, html("div", { class: "cl-panel" }, phases, scrollBox(page, table), summary), html("div", { class: "cl-panel" }, html("div", { class: "cl-lessons" }, why, then, refusals))));

  return function draw(state) {
    const shown = shownOf(state);
    const [, measured] = machines[state.machine];
    const sizes = letters(shown.problem);
    const all = ranking(sizes, slowed(measured, state.slower), shown.refused, ALIKE);
    const looked = all.ranked.find(({ name }) => name === state.look) ?? all.chosen;
    title.textContent = finding(shown.name, all);
    shape.textContent = shapeText(shown.problem);
    layerField.style.display = state.network === "own" ? "none" : "";
    if (listed !== state.network && catalogue[state.network]) {
      layers.replaceChildren(...catalogue[state.network].layers.map(({ name }, i) => html("option", { value: i }, name)));
      listed = state.network;
    }
    layers.value = Math.min(state.layer, layers.options.length - 1);
    for (const name of Object.keys(values)) values[name].textContent = name === "K" ? shown.problem.K : numbers(state)[name];
    bars.draw(all, looked, (words) => (story.textContent = words));
    story.textContent = phasesText(looked);
    const refused = Object.entries(shown.refused);
    refusals.replaceChildren(...(refused.length ? [html("div", { class: "cl-head" }, "do not serve this layer")] : []),
      ...refused.map(([name, reason]) => html("div", {}, html("b", {}, name), `: ${reason}`)));
    phases.textContent = `the phases of ${looked.name}`;
    table.replaceChildren(phaseTable(looked));
    summary.textContent = looked.summary;
    why.textContent = reason(all);
    then.textContent = experiment(state, all, ranking(sizes, measured, shown.refused, ALIKE));
  };
}

const finding = (layer, { chosen }) => say("finding", { layer, algorithm: chosen.name, time: timeText(chosen.seconds) });

function shapeText({ N, H, W, C, K, R, S, stride, groups }) {
  return `x ${N} × ${H} × ${W} × ${C}, ${K} filters ${R} × ${S}, stride ${stride[0]}${groups > 1 ? `, ${groups} groups` : ""}; ` +
    "one thread";
}

/** Why it is the chosen one. */
export function reason({ ranked, equals, chosen }) {
  const [first, second] = ranked;
  if (equals.length === 1) {
    return `${first.name} is predicted to be the fastest of ${ranked.length}; ` +
      `${second.name}, the next, takes ${ratioText(second.seconds / first.seconds)} as long.`;
  }
  const others = equals.filter((one) => one !== chosen);
  const rounds = others.every(({ rounding }) => rounding > chosen.rounding) ? "rounds least" : "rounds no more than the others and allocates least";
  return `${equals.map(({ name }) => name).join(", ")}: within ${fixed(100 * (ALIKE - 1), 0)} % of each other, too near ` +
    `to say who is faster. Of these ${chosen.name} ${rounds}.`;
}

/** What a slower machine changes; nothing to say where none is slower. */
function experiment({ slower }, { chosen }, measured) {
  if (slower === "nothing") return "";
  const before = measured.chosen;
  const factor = ratioText(chosen.seconds / before.seconds);
  if (before.name === chosen.name) return `As measured it is ${before.name} too: ${WHAT[slower]} it takes ${factor} as long.`;
  const now = `${chosen.name} takes ${timeText(chosen.seconds)}`;
  return `As measured it would be ${before.name}, ${timeText(before.seconds)}. ${WHAT[slower].replace("with", "With")} ${now}.`;
}

/** Every phase of one algorithm in numbers. */
function phaseTable({ seconds, parts }) {
  const time = (value) => (value > 0 ? timeText(value) : "0");
  const cell = (text, strong = false) => html("td", {}, strong ? html("b", {}, text) : text);
  const call = callOf({ seconds, parts });
  const line = (name, cells, kind = "") => html("tr", { class: kind }, html("th", { scope: "row" }, name), cells);
  const head = ["phase", "computing", "moving", "beginning", "together"];
  return html("table", { class: "cl-costs" },
    html("thead", {}, html("tr", {}, head.map((text) => html("th", { scope: "col" }, text)))),
    html("tbody", {},
      line("start the call", [cell(""), cell(""), cell(time(call), true), cell(time(call))]),
      parts.map((part) => line(part.name, [
        cell(time(part.computing), part.computing > 0 && part.computing >= part.moving),
        cell(time(part.moving), part.moving > part.computing),
        cell(time(part.beginning), part.beginning > 0), cell(time(part.seconds)),
      ])),
      line("all", [cell(""), cell(""), cell(""), cell(time(seconds))], "cl-now cl-sum")));
}

const NAMES = ["network", "layer", "own", "batch", "machine", "slower", "look", "catalogue", "choices", "machines", "refusals"];
export default { render: (context) => live(context, { kind: "predicted", names: NAMES, build }) };
