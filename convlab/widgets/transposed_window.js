// The transposed window: pixels that scatter their filter, or outputs that gather it, and what meets a zero.

import { digits, plural } from "./shared/numbers.js";
import { chip, clamp, html, live, more, numberBox, player, segments, select, sentence } from "./shared/page.js";
import { Grid } from "./shared/grid.js";
import { guide } from "./shared/guide.js";
import { say } from "./shared/sentences.js";
import { madeBy, productsOf, range, stepsOf, transposeOf, whyNoOutput } from "./transposed.js";
import { drawGather, drawScatter } from "./transposed_scene.js";
import { barOf, countsOf, lessonOf, sizeLines, told, totalOf } from "./transposed_words.js";

const VIEWS = ["scatter", "zeros", "subfilters"];
const same = (one, other) => ["p", "q", "h", "w"].every((name) => one[name] === other[name]);
const counted = (state, view = state.view) => (whyNoOutput(state) ? 0 : stepsOf(transposeOf(state), view).length);

function build(page) {
  const [pixels, weights] = [page.data("pixels"), page.data("weights")];
  let pointed = null; // { p, q } of x or { h, w } of y under the pointer; a place between pixels has a fraction
  let inSight = ""; // the state for which pictures were last scrolled
  let origins = { x: 0, by: 1, y: 0 }; // where the pictures begin, as drawn last
  const point = (to) => { pointed = to; page.refresh(); };
  const atX = (at) => at && { p: (at.row + origins.x) / origins.by, q: (at.column + origins.x) / origins.by };
  const atY = (at) => at && { h: at.row + origins.y, w: at.column + origins.y };
  const placed = (to) => stepsOf(transposeOf(page.state()), page.state().view).findIndex((step) => same(step, to));
  const choose = (to) => { if (to && placed(to) >= 0) page.set({ step: placed(to) }); };
  const grids = {
    x: new Grid(page, { role: "input pixels", look: (at) => point(atX(at)), choose: (at) => choose(atX(at)) }),
    w: new Grid(page, { role: "filter taps" }),
    y: new Grid(page, { role: "output pixels", look: (at) => point(atY(at)), choose: (at) => choose(atY(at)) }),
    overlaps: new Grid(page, { role: "overlaps", look: (at) => point(at && { h: at.row, w: at.column }) }),
  };
  const words = Object.fromEntries(Object.keys(grids).map((name) => [name, html("span")]));
  const figure = (name, role, title = name) => html("div", { class: "cl-figure cl-gone" },
    html("div", { class: "cl-caption" }, chip(role, title), " ", words[name]), grids[name].box);
  const [title, trouble, story] = [html("div", { class: "cl-title" }), html("div", { class: "cl-trouble", role: "status" }), sentence(page)];
  const [soFar, counts] = [html("div", { class: "cl-head" }), html("div", { class: "cl-counts" })];
  const [bars, sizes, lesson] = [html("div", { class: "cl-paces" }), html("div"), html("div", { class: "cl-lesson" })];
  const stage = html("div", { class: "cl-stage" }, figure("x", "input"), figure("w", "filter"), figure("y", "output"), trouble);
  const field = (name, control) => html("span", { class: "cl-field" }, html("span", { class: "cl-knob" }, name), control);
  const of = (name) => range(page.limits(name)[1] + 1, page.limits(name)[0]); // all that a number may be
  const knob = (name, label = name) => field(label, numberBox(page, { name, label }));
  const pairs = of("taps").flatMap((taps) => of("stride").map((stride) => [taps, stride]));
  // Another way goes on where this one is, in its own steps.
  const share = (view) => {
    const state = page.state();
    const done = (Math.min(state.step, counted(state) - 1) + 1) / Math.max(counted(state), 1);
    return { view, step: clamp(Math.round(done * counted(state, view)) - 1, 0, page.limits("step")[1]) };
  };

  page.root.append(
    title,
    guide(page),
    html("div", { class: "cl-bar" },
      segments(page, { name: "view", label: "way of computing", options: VIEWS.map((view) => [view, say(view)]), write: share }),
      field("filter", select(page, {
        label: "filter and stride", read: ({ taps, stride }) => `${taps},${stride}`,
        options: pairs.map(([taps, stride]) => [`${taps},${stride}`, `${taps} × ${taps}, stride ${stride}`]),
        write(value) {
          const [taps, stride] = value.split(",").map(Number);
          return { taps, stride };
        },
      }))),
    stage,
    player(page, {
      name: "step", label: "step", count: counted, pause: 600,
      say: (state) => (counted(state) ? `${state.view === "scatter" ? "pixel" : "output"} ` +
        `${Math.min(state.step + 1, counted(state))} of ${counted(state)}` : "no output"),
    }),
    story,
    more(html("div", { class: "cl-bar cl-tight" }, knob("padding"), knob("output_padding", "output padding"), knob("H"), knob("W"))),
    html("div", { class: "cl-panels cl-gone" },
      html("div", { class: "cl-panel" }, soFar, counts, bars, sizes),
      html("div", { class: "cl-panel cl-overlaps" }, figure("overlaps", "workspace"), lesson)));

  return function draw(state) {
    const broken = whyNoOutput(state);
    page.root.classList.toggle("cl-broken", Boolean(broken));
    trouble.textContent = broken ?? "";
    if (broken) {
      title.textContent = "These numbers leave no output";
      story.replaceChildren();
      return;
    }
    const [problem, view] = [transposeOf(state), state.view];
    const x = pixels.slice(0, state.H).map((line) => line.slice(0, state.W));
    const w = weights.slice(0, state.taps).map((line) => line.slice(0, state.taps));
    const steps = stepsOf(problem, view);
    const step = Math.min(state.step, steps.length - 1);
    const own = pointed ? steps.findIndex((one) => same(one, pointed)) : -1; // what is pointed at may be a step itself
    const shown = own < 0 ? step : own;
    const last = Math.max(step, shown);
    const all = Object.fromEntries(VIEWS.map((way) => [way, madeBy(problem, way, x, w)]));
    const scene = {
      ...{ state, problem, view, x, w, steps, shown, last, all: all[view], pointed: own < 0 ? pointed : null },
      ...{ made: madeBy(problem, view, x, w, last + 1), products: productsOf(problem, view, steps[shown]) },
    };
    const { inserted } = all[view].products;
    title.textContent = say("finding", {
      way: say(view), total: plural(totalOf(all[view].products), "multiplication"), inserted: inserted ? digits(inserted) : "none",
    });
    story.textContent = told(scene);
    const drawn = view === "scatter" ? drawScatter(grids, scene) : drawGather(grids, scene);
    origins = drawn.origins;
    for (const name of ["x", "w", "y"]) words[name].textContent = drawn.words[name];
    const { hits } = scene.made;
    const highest = Math.max(...all[view].hits.flat(), 1);
    grids.overlaps.draw({
      rows: problem.H, columns: problem.W, width: problem.W > 12 ? 21 : 24, height: 21,
      cell: (h, v) => ({ kind: hits[h][v] ? "cl-heat" : "cl-empty", text: hits[h][v] || "", heat: hits[h][v] / highest }),
      frames: scene.pointed && "h" in scene.pointed ? [{ name: "followed", row: scene.pointed.h, column: scene.pointed.w }] : [],
      label: `How many products each of the ${problem.H} by ${problem.W} outputs has taken so far, ${highest} at most in the end.`,
    });
    words.overlaps.textContent = "products by a pixel in each output, so far";
    lesson.textContent = `${lessonOf(state, all[view].hits)}.`;
    soFar.textContent = `${plural(totalOf(scene.made.products), "multiplication")} so far`;
    counts.replaceChildren(...countsOf(scene.made.products, view));
    const most = Math.max(...VIEWS.map((way) => totalOf(all[way].products)));
    bars.replaceChildren(html("div", { class: "cl-head" }, "multiplications for all of y"),
      ...VIEWS.map((way) => barOf(say(way), all[way].products, { chosen: way === view, most })));
    sizes.replaceChildren(...sizeLines(state, problem));
    const wide = ["x", "w", "y"].reduce((all, name) => all + grids[name].least, 100);
    stage.style.flexWrap = wide < page.width() ? "nowrap" : "wrap";
    const now = JSON.stringify(state);
    if (now !== inSight && !pointed) for (const name of ["x", "y"]) bringToSight(grids[name]);
    inSight = now;
  };
}

/** Scroll a picture that is wider than its place to where something happens. */
function bringToSight(grid) {
  const [box, edges] = [grid.box.firstChild, grid.edges().columns[clamp(grid.start.column, 0, grid.columns - 1)]];
  if (edges[0] < box.scrollLeft || edges[1] > box.scrollLeft + box.clientWidth) box.scrollLeft = edges[0] - box.clientWidth / 2;
}

const NAMES = ["view", "taps", "stride", "padding", "output_padding", "H", "W", "step"];
export default { render: (context) => live(context, { kind: "transposed", names: NAMES, build }) };
