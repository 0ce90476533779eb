// The roofline explorer: a layer as a point under the roofs of a machine. ALGORITHMS is written by Python.

import { whyNot } from "./shared/formulas.js";
import { bytesText, countText, fixed, plural, ratioText, timeText } from "./shared/numbers.js";
import { chip, html, live, more, OWN_KEYS, select, sentence, slider, svg } from "./shared/page.js";
import { guide } from "./shared/guide.js";
import { scrollBox } from "./shared/scroll.js";
import { drawChart, intensityText, speedText } from "./roofline_chart.js";
import { say } from "./shared/sentences.js";
import { bare, bound, nameOf, shaped, standing } from "./roofline.js";
import { refusal } from "./refusals.js";
import { ALGORITHMS } from "python";

function build(page) {
  const [catalogue, machines] = [page.data("catalogue"), page.data("machines")];
  const [steps, refusals] = [page.data("steps"), page.data("refusals")];
  const layersOf = (state) => catalogue.find(({ name }) => name === state.network).layers;
  const layerOf = (state) => layersOf(state)[Math.min(state.layer, layersOf(state).length - 1)];
  const OWN = { C: 0, K: 0, R: 0 };

  const title = html("div", { class: "cl-title" });
  const story = sentence(page);
  const chart = svg("svg", { role: "img", class: "cl-roofline-chart" });
  const key = (kind, words) => html("span", { class: "cl-key" }, html("span", { class: `cl-sample ${kind}` }), words);
  const [most, took] = [html("span"), key("cl-took", "measured")];
  const legend = html("div", { class: "cl-legend" }, key("cl-stands", most), key("cl-once", "at most, each number moved once"), took);
  const costs = html("div");
  const formulas = html("div", { class: "cl-formulas" });
  const field = (name, control) => html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, name), control);
  const layerBox = html("select", {
    "aria-label": "layer", ...OWN_KEYS, onchange: () => page.set({ layer: Number(layerBox.value), ...OWN }),
  });
  let listed = null;
  page.onUpdate((state) => {
    if (listed !== state.network) {
      listed = state.network;
      layerBox.replaceChildren(...layersOf(state).map(({ name }, i) => html("option", { value: i }, name)));
    }
    layerBox.value = Math.min(state.layer, layersOf(state).length - 1);
  });
  /** C, K or R: the steps and the layer's own number; a depthwise layer's filters follow its channels. */
  const values = {};
  const choices = (state, name) => {
    if (name === "K" && layerOf(state).groups > 1) return [shaped(layerOf(state), state).K];
    return [...new Set([...steps[name], layerOf(state)[name], state[name] || layerOf(state)[name]])].sort((a, b) => a - b);
  };
  const size = (name, role, what) => html("label", { class: "cl-field cl-grows" },
    html("span", { class: "cl-knob" }, chip(role, name), " ", (values[name] = html("b"))), slider(page, {
      name, label: `${name}, ${what}s`, count: (state) => choices(state, name).length,
      say: (state) => plural(shaped(layerOf(state), state)[name], what),
      at: {
        read: (state) => choices(state, name).indexOf(shaped(layerOf(state), state)[name]),
        write: (at) => {
          const [state, value] = [page.state(), choices(page.state(), name)[at]];
          return { [name]: value === layerOf(state)[name] ? 0 : value };
        },
      },
    }));
  const batch = html("label", { class: "cl-field cl-grows" },
    html("span", { class: "cl-knob" }, "batch ", chip("input", "N"), " ", (values.N = html("b"))), slider(page, {
      name: "batch", label: "batch, in powers of two", count: () => Math.log2(page.limits("batch")[1]) + 1,
      say: (state) => plural(state.batch, "image"),
      at: { read: (state) => Math.round(Math.log2(state.batch)), write: (power) => ({ batch: 2 ** power }) },
    }));
  const pick = (name, options, more) => select(page, { name, label: name, options, ...more });
  page.root.append(
    title,
    guide(page),
    html("div", { class: "cl-bar cl-tight" },
      field("algorithm", pick("algorithm", ALGORITHMS.map(({ name }) => [name, name]))),
      field("machine", pick("machine", Object.entries(machines).map(([key, { name, measured }]) => [key, measured ? name : `${name}, datasheet`])))),
    html("div", { class: "cl-tiling-sizes" }, size("C", "input", "channel")),
    more(
      html("div", { class: "cl-bar cl-tight" },
        field("network", pick("network", catalogue.map(({ name, title: words }) => [name, words]), { write: (network) => ({ network, layer: 0, ...OWN }) })),
        field("layer", layerBox)),
      html("div", { class: "cl-tiling-sizes" }, size("K", "filter", "filter"), size("R", "filter", "tap"), batch)),
    chart, legend, story,
    html("div", { class: "cl-panel" }, scrollBox(page, costs)), html("div", { class: "cl-panel" }, formulas),
  );

  let [trail, path] = [[], ""];
  return function draw(state) {
    const [layer, machine] = [layerOf(state), machines[state.machine]];
    const algorithm = ALGORITHMS.find(({ name }) => name === state.algorithm);
    const problem = shaped(layer, state);
    for (const name of ["N", "C", "K", "R"]) values[name].textContent = problem[name];
    const untouched = !state.C && !state.K && !state.R && state.batch === 1;
    const name = untouched ? layer.name : `a layer like ${layer.name}`;
    const formless = algorithm[machine.backend] ? undefined : `it has no form for '${machine.backend}'`;
    const broken = whyNot(problem) ?? refusal(refusals, algorithm, problem) ?? formless;
    const here = broken ? null : standing(machine, algorithm, problem);
    const alone = whyNot(problem) ? null : bare(machine, problem);
    const seconds = untouched ? layer.seconds[state.machine]?.[algorithm.name] : undefined;
    const followed = `${state.network} ${state.layer} ${state.machine} ${state.algorithm}`; // its path as sliders move
    if (followed !== path) [trail, path] = [[], followed];
    drawChart(page, chart, machine, algorithm, here ?? alone, seconds, trail);
    if (here) trail = [...trail, [here.counted, here.ceiling]].slice(-40);
    most.textContent = `at most, as ${algorithm.name} moves its bytes`;
    took.style.display = seconds ? "" : "none";
    legend.style.display = broken ? "none" : "";
    if (broken) {
      title.textContent = say("refused", { algorithm: algorithm.name, layer: name });
      const itself = alone ? ` The layer itself has ${intensityText(alone.intensity)} FLOPs for each byte: the ring.` : "";
      story.textContent = `${broken}. Choose another algorithm, or other sizes.${itself}`;
      for (const part of [costs, formulas]) part.replaceChildren();
      return;
    }
    const holds = here.byAdds ? "the multiply-adds" : nameOf(here.home);
    title.textContent = say("most", { layer: name, algorithm: algorithm.name, speed: speedText(here.ceiling), bound: holds });
    story.textContent = told(machine, algorithm, here, seconds);
    costs.replaceChildren(table(machine, algorithm, here, seconds));
    const line = (...parts) => html("div", {}, parts);
    const missing = Object.entries(machine.missing).map(([roof, why]) => `${roof}: ${why}`).join("; ");
    formulas.replaceChildren(
      line(algorithm.summary),
      line(`operations = ${algorithm.flopsText} = ${countText(here.done)}`),
      line(`bytes = ${algorithm[`${machine.backend}Text`]} = ${bytesText(here.moved)}`),
      ...(missing ? [line(`Roofs that are missing here: ${missing}.`)] : []),
      ...(machine.source ? [line(`Dashed: nobody measured it here. From ${machine.source}.`)] : []),
    );
  };
}

/** What the point says, in a few sentences. */
function told(machine, algorithm, here, seconds) {
  const { home, counted, saves, byAdds } = here;
  const ridge = here.adds / home.rate;
  const needs = `${intensityText(counted)} FLOPs for each byte that ${algorithm.name} moves`;
  const words = [byAdds
    ? `Held up by the multiply-adds: ${needs}, and from ${intensityText(ridge)} FLOPs a byte upwards ${nameOf(home)} keeps up.`
    : `Held up by ${nameOf(home)}: ${needs}, and the multiply-adds want ${intensityText(ridge)}.`];
  if (Math.abs(saves - 1) > 0.02) {
    words.push(saves > 1
      ? `It does ${fixed(100 / saves, 0)} % of the definition's operations, so its own roof is ${ratioText(saves)} as high.`
      : `It does ${ratioText(1 / saves)} the definition's operations, so its own roof is lower.`);
  }
  if (seconds) words.push(`Measured: ${timeText(seconds)}, held up by ${bound(here, machine, seconds)}.`);
  return words.join(" ");
}

function table(machine, algorithm, here, seconds) {
  const line = (name, bytes, intensity, speed, kind = "") => html("tr", { class: kind }, html("th", { scope: "row" }, name),
    [bytesText(bytes), intensityText(intensity), speedText(speed), timeText(here.flops / speed)].map((text) => html("td", {}, text)));
  const best = Math.min(here.adds, here.home.rate * here.intensity);
  return html("table", { class: "cl-costs" },
    html("thead", {}, html("tr", {}, html("td"), ["bytes", "FLOPs per byte", "FLOPs a second", "time"].map((text) => html("th", { scope: "col" }, text)))),
    html("tbody", {},
      line("at most, every number moved once", here.once, here.intensity, best),
      line(`at most, as ${algorithm.name} moves them`, here.moved, here.counted, here.ceiling, "cl-now"),
      ...(seconds ? [line("measured", here.moved, here.counted, here.flops / seconds)] : [])));
}

const NAMES = ["network", "layer", "batch", "algorithm", "C", "K", "R", "machine"];
export default { render: (context) => live(context, { kind: "roofline", names: NAMES, build }) };
