// The memory blow-up explorer. ALGORITHMS is written by Python from convlab's own table, formulas included.

import { ITEMSIZE, largestBatch, letters, tensorBytes, whyNot } from "./shared/formulas.js";
import { bytesText, digits, plural, ratioText } from "./shared/numbers.js";
import { chip, clamp, html, live, more, numberBox, segments, select, slider } from "./shared/page.js";
import { guide } from "./shared/guide.js";
import { say } from "./shared/sentences.js";
import { arrayChart, GIB, layerChart, peak } from "./memory_charts.js";
import { ALGORITHMS } from "python";

const both = (value) => (Array.isArray(value) ? value : [value, value]);

/** A layer as a problem, with the batch and the dtype on show; an own layer has single numbers for its pairs. */
export function problemOf(layer, { batch, dtype }) {
  const padding = Array.isArray(layer.padding) ? layer.padding : [both(layer.padding), both(layer.padding)];
  return { ...layer, N: batch, dtype, stride: both(layer.stride), dilation: both(layer.dilation), padding };
}

/** A layer of a network as an own layer: one number for each pair, the largest. */
function ownOf({ H, W, C, K, R, S, stride, padding, dilation, groups }) {
  const most = (pair) => Math.max(...pair.flat());
  return { H, W, C, K, R, S, stride: most(stride), padding: most(padding), dilation: most(dilation), groups };
}

function build(page) {
  const catalogue = page.data("catalogue");
  const networkOf = (state) => catalogue.find(({ name }) => name === state.network);
  const positionOf = (state) => Math.min(state.layer, networkOf(state).layers.length - 1);
  const algorithmOf = (state) => ALGORITHMS.find(({ name }) => name === state.algorithm) ?? ALGORITHMS[0];
  const refusalsOf = (state, i) => state.refusals[state.dtype]?.[state.network]?.[i] ?? {};
  const measureAll = (state) => networkOf(state).layers.map((layer, i) => measure(layer, state, refusalsOf(state, i)));

  const chooseNetwork = (network) => {
    const state = page.state();
    if (network !== "own") return { network, layer: peak(measureAll({ ...state, network }), state.algorithm) };
    return { network, own: networkOf(state) ? ownOf(networkOf(state).layers[positionOf(state)]) : state.own };
  };
  const chooseLayer = (i) => page.set({ layer: clamp(i, 0, networkOf(page.state()).layers.length - 1) });

  const title = html("div", { class: "cl-title" });
  const layers = layerChart(page, chooseLayer);
  const arrays = arrayChart(page);
  const trouble = html("div", { class: "cl-trouble", role: "status" });
  const heading = html("div", { class: "cl-caption" });
  const formula = html("div", { class: "cl-formulas" });
  const lessons = html("div", { class: "cl-lessons" });
  const field = (name, ...controls) => html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, name), controls);
  const form = html("div", { class: "cl-bar cl-tight" }, Object.entries(page.data("own_ranges")).map(([name, limits]) =>
    field(name, numberBox(page, {
      name, limits, label: `${name} of your layer`,
      at: { read: ({ own }) => own[name], write: (value) => ({ own: { ...page.state().own, [name]: value } }) },
    }))));
  const network = select(page, {
    name: "network", label: "network", write: chooseNetwork,
    options: [...catalogue.map(({ name, title: words }) => [name, words]), ["own", "your own layer"]],
  });
  const batch = slider(page, {
    name: "batch", label: "batch, in powers of two",
    count: () => Math.log2(page.limits("batch")[1]) + 1,
    say: (state) => plural(state.batch, "image"),
    at: { read: (state) => Math.round(Math.log2(state.batch)), write: (power) => ({ batch: 2 ** power }) },
  });
  const images = html("b", {});
  page.onUpdate((state) => (images.textContent = state.batch));
  const batchField = field("batch N", batch, images);
  batchField.classList.add("cl-batch");
  const dtypes = Object.keys(ITEMSIZE).map((name) => [name, name]);

  page.root.append(
    title,
    guide(page),
    html("div", { class: "cl-bar" }, field("network", network), batchField),
    more(html("div", { class: "cl-bar" }, field("batch N", numberBox(page, { name: "batch", label: "batch N" })),
      field("numbers", segments(page, { name: "dtype", label: "type of the numbers", options: dtypes })))),
    layers.node, form, html("div", { class: "cl-stage" }, trouble), heading, arrays.node,
    html("div", { class: "cl-panel" }, formula, lessons),
  );

  return function draw(state) {
    const home = networkOf(state);
    const algorithm = algorithmOf(state);
    const layer = home ? home.layers[positionOf(state)] : state.own;
    const broken = whyNot(problemOf(layer, state));
    layers.node.style.display = home ? "" : "none";
    form.style.display = home ? "none" : "";
    page.root.classList.toggle("cl-broken", Boolean(broken));
    trouble.textContent = broken ?? "";
    if (broken) {
      title.textContent = "These numbers are no convolution";
      for (const part of [heading, formula, lessons]) part.replaceChildren();
      return;
    }
    const name = home ? layer.name : "Your layer";
    const told = home ? refusalsOf(state, positionOf(state)) : ownRefusals(state);
    const here = measure(layer, state, told ?? {});
    const all = home ? measureAll(state) : null;
    title.textContent = finding(name, here, algorithm);
    heading.replaceChildren(html("b", {}, name), ` ${shapeText(here.problem)}`);
    arrays.draw(here, all, home, algorithm.name);
    formula.replaceChildren(...formulaLines(algorithm, here));
    const words = explain(algorithm, here);
    if (told === null) words.push("Without a kernel this page cannot ask whether an algorithm serves your layer.");
    if (home) {
      layers.draw(home, all, positionOf(state), algorithm);
      words.push(peakText(home, all, algorithm));
    }
    lessons.replaceChildren(...words.map((line) => html("div", {}, line)));
  };
}

/** A layer in bytes: of x, w and y, and by name of every algorithm's workspace, 0 where it refuses. */
export function measure(layer, state, refusals) {
  const problem = problemOf(layer, state);
  const sizes = letters(problem);
  const spaces = ALGORITHMS.map(({ name, workspace }) => [name, refusals[name] ? 0 : workspace(sizes)]);
  return { layer, problem, refusals, bytes: { ...tensorBytes(problem), ...Object.fromEntries(spaces) } };
}

/** What the kernel said about the own layer as it is now; null where there is no kernel to ask. */
function ownRefusals({ own, own_refusals: told, dtype, batch }) {
  const asked = told.own && told.dtype === dtype && told.batch === batch;
  return asked && Object.keys(own).every((key) => own[key] === told.own[key]) ? told.reasons : null;
}

function finding(layer, { bytes, refusals }, { name }) {
  const word = refusals[name] ? "refused" : bytes[name] ? "ratio" : "nothing";
  return say(word, { layer, algorithm: name, ratio: ratioText(bytes[name] / bytes.x) });
}

function shapeText({ N, H, W, C, K, R, S, stride, groups }) {
  const steps = stride[0] === stride[1] ? stride[0] : stride.join(", ");
  return `x ${N} × ${H} × ${W} × ${C}, ${K} filters ${R} × ${S}, stride ${steps}${groups > 1 ? `, ${groups} groups` : ""}`;
}

const ROLE_OF = { N: "input", H: "input", W: "input", C: "input", K: "filter", R: "filter", S: "filter", P: "output", Q: "output" };

/** The formula with the tint of each letter's role; with `values`, the numbers in place of letters and names. */
function formulaParts(formula, values = null, names = []) {
  return formula.split(new RegExp(`\\b(${["[NHWCKRSPQGb]", ...names].join("|")})\\b`)).map((part, i) => {
    if (i % 2 === 0) return part;
    const text = values ? digits(values[part]) : part;
    return ROLE_OF[part] ? chip(ROLE_OF[part], text) : text;
  });
}

export function formulaLines({ name, formula, parts, values }, { problem, bytes, refusals }) {
  if (refusals[name]) return [];
  const line = (...parts) => html("div", { class: "cl-formula" }, parts);
  const left = [chip("workspace", name), " workspace = "];
  if (formula === "0") return [line(...left, "0")];
  // Beyond 2^53 the browser's numbers are no longer exact to the last digit: then only what is certain is said.
  const exact = Number.isSafeInteger(bytes[name]);
  const readable = bytes[name] < 1024 ? "" : ` ${exact ? "=" : "≈"} ${bytesText(bytes[name])}`;
  const sizes = letters(problem);
  const worth = values(sizes);
  const names = parts.map(([part]) => part);
  return [
    line(...left, ...formulaParts(formula), html("span", { class: "cl-quiet" }, "b: bytes of one number")),
    ...parts.map(([part, text]) => line(`with ${part} = `, ...formulaParts(text), ` = ${digits(worth[part])}`)),
    line("= ", ...formulaParts(formula, { ...sizes, ...worth }, names), exact ? ` = ${digits(bytes[name])} B` : "", html("b", {}, readable)),
  ];
}

/** What the numbers mean. A matrix of all windows has a sentence of its own; the others speak by their summary. */
export function explain({ name, summary, unrolls, workspace }, { problem, bytes, refusals }) {
  if (refusals[name]) return [summary, `It refuses this layer: ${refusals[name]}`];
  const { R, S, stride } = problem;
  const words = [summary];
  if (unrolls) {
    const steps = stride[0] * stride[1];
    if (R * S === 1 && bytes[name] === bytes.x) words.push("A 1 × 1 filter: the matrix is the input itself, yet it is copied.");
    else {
      const shared = steps === 1 ? "stride 1" : `shared out over ${stride[0]}·${stride[1]} = ${steps} positions by the stride`;
      words.push(`Each number of x takes ${ratioText(bytes[name] / bytes.x).replace("×", "")} cells of the matrix on average: ` +
        `R·S = ${plural(R * S, "tap")}, ${shared}.`);
    }
  }
  const fits = largestBatch(problem, workspace, 8 * GIB);
  words.push(fits ? `In 8 GiB, x, w, y and this workspace fit up to batch ${digits(fits)}.`
    : "Not even one image fits in 8 GiB with this workspace.");
  return words;
}

function peakText({ title }, all, { name }) {
  const [top, largest] = [all[peak(all, name)], all[peak(all, "x")]];
  const [space, input] = [top.bytes[name], largest.bytes.x];
  if (!space) return `On every layer of ${title} that it serves, ${name} needs no workspace.`;
  return `Peak over ${title}: ${top.layer.name}, ${bytesText(space)}. That is ${ratioText(space / input)} ` +
    `the network's largest input (${largest.layer.name}, ${bytesText(input)}).`;
}

const NAMES = ["network", "layer", "batch", "dtype", "algorithm", "own", "own_refusals", "refusals"];
export default { render: (context) => live(context, { kind: "memory", names: NAMES, build }) };
