// The roofline explorer: a layer as a point under the roofs of a machine. ALGORITHMS is written by Python.

const [LEFT, RIGHT] = [2 ** -4, 2 ** 12]; // FLOPs a byte: all layers of the networks, and room to move

const speedText = (rate) => `${countText(rate)}FLOP/s`;
const intensityText = (value) => (fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0));

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
      name, label: `${name}, ${what}`, count: (state) => choices(state, name).length,
      say: (state) => `${shaped(layerOf(state), state)[name]} ${what}`,
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
    html("div", { class: "cl-try" }, "Make C smaller, then K: which way does the point go? Choose a depthwise layer of a MobileNet, " +
      "then winograd_4x4 on a 3 × 3 layer. Then another machine."),
    html("div", { class: "cl-bar cl-tight" },
      field("network", pick("network", catalogue.map(({ name, title: words }) => [name, words]), { write: (network) => ({ network, layer: 0, ...OWN }) })),
      field("layer", layerBox),
      field("algorithm", pick("algorithm", ALGORITHMS.map(({ name }) => [name, name]))),
      field("machine", pick("machine", Object.entries(machines).map(([key, { name, measured }]) => [key, measured ? name : `${name}, datasheet`])))),
    html("div", { class: "cl-tiling-sizes" },
      size("C", "input", "channels"), size("K", "filter", "filters"), size("R", "filter", "rows and columns of a filter"), batch),
    chart, legend, story,
    html("div", { class: "cl-panel cl-wide-table" }, costs), html("div", { class: "cl-panel" }, formulas),
  );

  let [trail, path] = [[], ""];
  return function draw(state) {
    const [layer, machine] = [layerOf(state), machines[state.machine]];
    const algorithm = ALGORITHMS.find(({ name }) => name === state.algorithm);
    const problem = shaped(layer, state);
    for (const name of ["N", "C", "K", "R"]) values[name].textContent = problem[name];
    const untouched = !state.C && !state.K && !state.R && state.batch === 1;
    const name = untouched ? layer.name : `a layer like ${layer.name}`;
    const broken = whyNot(problem) ?? refusal(refusals, algorithm, problem);
    const here = broken ? null : standing(machine, algorithm, problem);
    const seconds = untouched ? layer.seconds[state.machine]?.[algorithm.name] : undefined;
    const followed = `${state.network} ${state.layer} ${state.machine} ${state.algorithm}`; // its path as sliders move
    if (followed !== path) [trail, path] = [[], followed];
    drawChart(page, chart, machine, algorithm, here, seconds, trail);
    if (here) trail = [...trail, [here.counted, here.ceiling]].slice(-40);
    most.textContent = `at most, as ${algorithm.name} moves its bytes`;
    took.style.display = seconds ? "" : "none";
    legend.style.display = broken ? "none" : "";
    if (broken) {
      title.textContent = `${algorithm.name} does not serve ${name}`;
      story.textContent = `${broken}. Choose another algorithm, or other sizes.`;
      for (const part of [costs, formulas]) part.replaceChildren();
      return;
    }
    title.textContent = `${name} with ${algorithm.name}: at most ${speedText(here.ceiling)}, by ${here.byAdds ? "the multiply-adds" : nameOf(here.home)}`;
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
    ? `Held up by the multiply-adds: ${needs}, and from ${intensityText(ridge)} on ${nameOf(home)} keeps up.`
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
    html("thead", {}, html("tr", {}, ["", "bytes", "FLOPs per byte", "FLOPs a second", "time"].map((text) => html("th", { scope: "col" }, text)))),
    html("tbody", {},
      line("at most, every number moved once", here.once, here.intensity, best),
      line(`at most, as ${algorithm.name} moves them`, here.moved, here.counted, here.ceiling, "cl-now"),
      ...(seconds ? [line("measured", here.moved, here.counted, here.flops / seconds)] : [])));
}

// -- the picture ---------------------------------------------------------------------------------------------

function drawChart(page, chart, machine, algorithm, here, seconds, trail) {
  const wide = page.width() - 34;
  const [width, height, left, bottom, top] = [wide, clamp(wide * 0.5, 260, 400), 46, 34, 10];
  const narrow = wide < 520;
  const [low, high] = [Math.min(machine.flops / 2 ** 8, machine.memories.at(-1).rate * LEFT / 2), machine.flops * 2 ** 3];
  const scale = (value, from, to) => Math.log2(clamp(value, from, to) / from) / Math.log2(to / from);
  const px = (intensity) => left + (width - left - 6) * scale(intensity, LEFT, RIGHT);
  const py = (speed) => height - bottom - (height - bottom - top) * scale(speed, low, high);
  const point = (x, y) => `${x.toFixed(2)} ${y.toFixed(2)}`;
  const label = (x, y, text, more = {}) => svg("text", { x, y, class: "cl-note-text", ...more }, text);
  const dashed = machine.measured ? "" : " cl-promised";

  const powers = (from, to) => {
    const all = [];
    for (let value = 10 ** Math.ceil(Math.log10(from)); value <= to; value *= 10) all.push(value);
    return all;
  };
  const grid = [
    ...powers(LEFT, RIGHT).flatMap((value) => [
      svg("path", { d: `M${point(px(value), top)}V${height - bottom}`, class: "cl-rule" }),
      svg("text", { x: px(value), y: height - bottom + 12, class: "cl-tick", "text-anchor": "middle" }, `${Number(value.toPrecision(1))}`)]),
    ...powers(low, high).flatMap((value) => [
      svg("path", { d: `M${point(left, py(value))}H${width - 6}`, class: "cl-rule" }),
      svg("text", { x: left - 6, y: py(value), class: "cl-tick", "text-anchor": "end" }, countText(value).replace(/\.0+ /, " "))]),
    label(width - 6, height - 3, "FLOPs for each byte", { "text-anchor": "end" }),
    label(left + 6, top + 10, "FLOPs a second"),
  ];

  const roofs = machine.memories.flatMap(({ name, rate }, i) => {
    const [begin, end] = [Math.max(LEFT, low / rate), machine.flops / rate];
    const share = 0.25 + 0.4 * (i % 2);
    const at = begin ** (1 - share) * end ** share;
    const angle = (Math.atan2(py(end * rate) - py(begin * rate), px(end) - px(begin)) * 180) / Math.PI;
    const text = narrow ? name : `${name} ${countText(rate)}B/s`;
    const home = here && here.home.name === name ? " cl-home" : "";
    return [
      svg("path", { d: `M${point(px(begin), py(begin * rate))}L${point(px(end), py(end * rate))}`, class: `cl-roof${dashed}${home}` }),
      svg("text", { transform: `translate(${point(px(at), py(at * rate))}) rotate(${angle.toFixed(1)})`, y: 4, class: "cl-roof-name", "text-anchor": "middle" }, text)];
  });
  const first = Math.min(...machine.memories.map(({ rate }) => machine.flops / rate));
  const flat = (speed, name, kind) => [
    svg("path", { d: `M${point(px(first), py(speed))}H${width - 6}`, class: `cl-roof ${kind}${dashed}` }),
    label(width - 8, py(speed) - 5, narrow ? name.replace("multiply-adds", "adds") : `${name} ${speedText(speed)}`, { "text-anchor": "end", class: "cl-roof-name" })];
  for (const [name, rate] of machine.more) {
    if (rate > 1.3 * machine.flops && rate < high && !narrow) roofs.push(...flat(rate, name, ""));
  }
  roofs.push(...flat(machine.flops, "multiply-adds", "cl-flat"));
  if (here && Math.abs(here.saves - 1) > 0.02) roofs.push(...flat(here.adds, `roof of ${algorithm.name}`, "cl-own-roof"));

  const marks = [];
  if (here) {
    const [x, y] = [px(here.counted), py(here.ceiling)];
    const once = px(here.intensity);
    const best = py(Math.min(here.adds, here.home.rate * here.intensity));
    marks.push(
      ...trail.map(([intensity, speed]) => svg("circle", { cx: px(intensity).toFixed(2), cy: py(speed).toFixed(2), r: 2, class: "cl-trail" })),
      svg("path", { d: `M${point(x, y)}V${height - bottom}`, class: "cl-drop" }),
      svg("circle", { cx: once.toFixed(2), cy: best.toFixed(2), r: 5, class: "cl-once" }),
      svg("circle", { cx: x.toFixed(2), cy: y.toFixed(2), r: 7, class: "cl-stands" }),
    );
    if (seconds) {
      const fast = py(here.flops / seconds);
      marks.push(
        svg("path", { d: `M${point(x, y)}V${fast.toFixed(2)}`, class: "cl-gap" }),
        svg("path", { d: `M${point(x - 6, fast)}l6 -6l6 6l-6 6z`, class: "cl-took" }));
    }
  }
  const words = here
    ? `A point at ${intensityText(here.counted)} FLOPs a byte, at most ${speedText(here.ceiling)}; with each number moved once ${intensityText(here.intensity)} FLOPs a byte` +
      (seconds ? `; measured ${speedText(here.flops / seconds)}` : "")
    : "No point: the algorithm does not serve the layer";
  const lines = machine.memories.map(({ name, rate }) => `${name} ${countText(rate)}B/s`).join(", ");
  chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
  chart.setAttribute("width", width);
  chart.setAttribute("height", height);
  chart.setAttribute("aria-label", `Roofline of ${machine.name}: multiply-adds ${speedText(machine.flops)}, ${lines}. ${words}.`);
  chart.replaceChildren(...grid, ...roofs, ...marks);
}

const NAMES = ["network", "layer", "batch", "algorithm", "C", "K", "R", "machine"];
export default { render: (context) => live(context, { kind: "roofline", names: NAMES, build }) };
