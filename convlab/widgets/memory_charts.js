// The two charts of the memory blow-up explorer: every layer of a network, and every array of one layer.

import { bytesText, ratioText } from "./shared/numbers.js";
import { chip, clamp, html, OWN_KEYS, svg } from "./shared/page.js";
import { ALGORITHMS, MEMORIES } from "python";

export const GIB = 2 ** 30;

/** The position of the layer that takes the most bytes for `key`: "x", or the name of an algorithm. */
export const peak = (all, key) => all.reduce((best, { bytes }, i) => (bytes[key] > all[best].bytes[key] ? i : best), 0);

/** The memories on an axis `most` bytes long; those too near to 0 to be told from it are left out. */
const memoriesOn = (most) => MEMORIES.filter(([size]) => size >= 0.01 * most && size <= most);

const memoryText = ([size, what]) => `${size / GIB} GiB (${what})`;

/** Whether the name of line i would run into the next line's; `room` is what a name needs of the axis. */
const crowded = (lines, i, most, room) => i + 1 < lines.length && (lines[i + 1][0] - lines[i][0]) / most < room;

/** How long the axis of the bars is: what is left of it holds the words behind the longest. */
const axisOf = (marks) => marks.clientWidth - parseFloat(getComputedStyle(marks).getPropertyValue("--after") || 0);

/** How high each line's name stands over the others, so that none touches another: 0 is nearest to the bars. */
function levelsOf(places, room = 44) {
  const ends = []; // by level: where its last name stands
  return places.map((place) => {
    const level = ends.findIndex((end) => place - end >= room);
    const free = level < 0 ? ends.length : level;
    ends[free] = place;
    return free;
  });
}

/** A sentence on the first memory beyond an axis; empty if it lies more than `reach` times as far. */
function nextMemory(most, reach, axis) {
  const next = MEMORIES.find(([size]) => size > most);
  return next && next[0] <= reach * most ? `${memoryText(next)} lies at ${ratioText(next[0] / most)} this ${axis}.` : "";
}

/** Round steps for an axis of bytes: at most `count` of them. */
function ticks(most, count) {
  const step = 2 ** Math.ceil(Math.log2(most / count));
  return Array.from({ length: Math.floor(most / step) }, (_, i) => (i + 1) * step);
}

const tickText = (bytes) => bytesText(bytes).replace(/\.0+ /, " ").replace(/(\.\d)0 /, "$1 ");

/** What a layer's two bars say, in words. */
function layerWords({ layer, bytes, refusals }, { name }) {
  const input = `${layer.name}: input ${bytesText(bytes.x)}, `;
  if (refusals[name]) return `${input}${name} refuses it.`;
  return `${input}${name} workspace ${bytesText(bytes[name])}, ${ratioText(bytes[name] / bytes.x)} its input.`;
}

/** Two bars a layer: the input, and the workspace of the chosen algorithm. `choose(i)` on a click or an arrow key. */
export function layerChart(page, choose) {
  const [height, left, top, bottom] = [190, 58, 22, 24];
  const floor = height - bottom;
  let [width, right, count, chosen] = [0, 0, 0, 0];
  const slot = () => (width - left - right) / count;
  const picture = svg("svg", {
    class: "cl-grid", role: "application", "aria-roledescription": "bar chart", tabindex: 0, ...OWN_KEYS,
    onclick: page.guard((event) => {
      const box = picture.getBoundingClientRect();
      choose(Math.floor((((event.clientX - box.left) * width) / box.width - left) / slot()));
    }),
    onkeydown: page.guard((event) => {
      const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: 1, ArrowDown: -1, PageUp: 4, PageDown: -4, Home: -chosen, End: count };
      if (!(event.key in moves)) return;
      choose(chosen + moves[event.key]);
      event.preventDefault();
      event.stopPropagation();
    }),
  });
  const legend = html("div", { class: "cl-caption" });

  const draw = (network, all, layer, algorithm) => {
    const { name } = algorithm;
    const most = Math.max(...all.flatMap(({ bytes }) => [bytes.x, bytes[name]]));
    const lines = memoriesOn(most);
    [width, right, count, chosen] = [page.width() - 34, lines.length ? 50 : 4, all.length, layer];
    const y = (bytes) => top + (floor - top) * (1 - bytes / most);
    const line = (bytes, kind) => svg("line", { x1: left, x2: width - right + 4, y1: y(bytes), y2: y(bytes), class: kind });
    const bar = (x, bytes, kind) =>
      svg("rect", { x, y: y(bytes), width: Math.max(slot() * 0.36, 1), height: floor - y(bytes), class: kind });
    const text = (x, row, words, kind, anchor = "middle") => svg("text", { x, y: row, class: kind, "text-anchor": anchor }, words);
    /** Words under or over layer i, kept inside the picture. */
    const note = (i, row, words, kind = "") => {
      const half = words.length * 3.4;
      const x = clamp(left + (i + 0.5) * slot(), Math.min(left + half, width / 2), Math.max(width - half, width / 2));
      return text(x, row, words, `cl-note-text ${kind}`);
    };
    const at = peak(all, name);
    const summit = all[at].bytes[name];
    picture.replaceChildren(
      ...ticks(most, 4).flatMap((bytes) => [line(bytes, "cl-rule"), text(left - 7, y(bytes), tickText(bytes), "cl-tick", "end")]),
      svg("rect", { x: left + chosen * slot(), y: top - 4, width: slot(), height: floor - top + 4, class: "cl-slot" }),
      ...all.flatMap(({ bytes, refusals }, i) => {
        const middle = left + (i + 0.5) * slot();
        const second = refusals[name] ? text(middle + slot() * 0.18, floor - 5, "–", "cl-tick")
          : bar(middle, bytes[name], "cl-bar-workspace");
        return [bar(middle - Math.max(slot() * 0.36, 1), bytes.x, "cl-bar-input"), second];
      }),
      line(0, "cl-base"),
      ...lines.flatMap(([size], i) => [line(size, "cl-memory-line"),
        crowded(lines, i, most, 0.1) ? "" : text(width - right + 8, y(size), `${size / GIB} GiB`, "cl-tick", "start")]),
      ...(summit ? [note(at, 10, `peak ${bytesText(summit)}`)] : []),
      note(chosen, height - 8, all[chosen].layer.name, "cl-strong"),
    );
    const box = { viewBox: `0 0 ${width} ${height}`, width, height };
    for (const [attribute, value] of Object.entries(box)) picture.setAttribute(attribute, value);
    const remark = chosen === at && summit ? " This is the peak." : "";
    picture.setAttribute("aria-label", `Layer ${chosen + 1} of ${count}, ${layerWords(all[chosen], algorithm)}${remark}`);
    legend.replaceChildren(`every convolution of ${network.title}, in order: `, chip("input", "input"), " ",
      chip("workspace", `${name} workspace`), ` ${nextMemory(most, 2, "height")}`);
  };
  return { node: html("div", { class: "cl-layers" }, legend, picture), draw };
}

/** A bar for each tensor and for each algorithm's workspace, on one linear axis. Made once, so that focus stays. */
export function arrayChart(page) {
  const line = (key, label, role) => {
    const length = html("div", { class: `cl-length cl-${role}` });
    const words = html("span", { class: "cl-value-text" });
    const summit = html("span", { class: "cl-summit" });
    return { key, length, words, summit, node: html("div", { class: "cl-line" },
      label, html("div", { class: "cl-track" }, length, words), summit) };
  };
  const tensors = [["x", "input"], ["w", "filter"], ["y", "output"]].map(([letter, role]) =>
    line(letter, html("span", { class: "cl-name" }, chip(role, letter), role), role));
  const spaces = ALGORITHMS.map(({ name }) => {
    const input = html("input", {
      type: "radio", name: `${page.root.id}-algorithm`, value: name, ...OWN_KEYS, onchange: () => page.set({ algorithm: name }),
    });
    return { input, ...line(name, html("label", { class: "cl-name" }, input, html("span", {}, name)), "workspace") };
  });
  const marks = html("div", { class: "cl-marks", "aria-hidden": "true" });
  const note = html("div", { class: "cl-note" });
  const bars = html("div", { class: "cl-bars", role: "radiogroup", "aria-label": "algorithm" },
    tensors.map((each) => each.node), html("div", { class: "cl-head cl-between" }, "and beside them, the workspace of"),
    spaces.map((each) => each.node), marks);

  const words = (key, { bytes, refusals }) => {
    if (refusals[key]) return `refused: ${refusals[key]}`;
    if (!bytes[key]) return "0, nothing beside x, w, y";
    return bytesText(bytes[key]) + (key.length > 1 ? `, ${ratioText(bytes[key] / bytes.x)} input` : "");
  };
  /** Draw one layer; `all` layers of its network give the peaks, null where there is none. */
  const draw = (here, all, network, chosen) => {
    const peaked = new Set(all ? ["x", ...spaces.map(({ key }) => key)] : []);
    const rows = [...tensors, ...spaces].map((each) => {
      const top = peaked.has(each.key) ? all[peak(all, each.key)] : here;
      return { each, now: here.bytes[each.key], most: top.bytes[each.key], at: top.layer.name };
    });
    const most = Math.max(...rows.map((row) => row.most));
    for (const { each, now, most: reach, at } of rows) {
      each.length.style.setProperty("--share", reach / most);
      each.length.style.setProperty("--now", now ? Math.max(now / reach, 0.003) : 0);
      each.length.classList.toggle("cl-zero", !reach);
      each.words.textContent = words(each.key, here);
      each.summit.textContent = reach && peaked.has(each.key) ? `peak ${bytesText(reach)} at ${at}` : "";
    }
    for (const { key, input, node } of spaces) {
      input.checked = key === chosen;
      node.classList.toggle("cl-chosen", input.checked);
    }
    const lines = memoriesOn(most);
    const levels = levelsOf(lines.map(([size]) => (size / most) * axisOf(marks)));
    marks.replaceChildren(...lines.map(([size], i) => html("div", { class: "cl-mark", style: `--share: ${size / most}; --level: ${levels[i]}` },
      html("span", {}, `${size / GIB} GiB`))));
    bars.style.setProperty("--levels", Math.max(0, ...levels));
    bars.classList.toggle("cl-marked", lines.length > 0);
    bars.classList.toggle("cl-peaked", peaked.size > 0);
    note.textContent = [
      `All bars start at 0 on one linear axis, ${bytesText(most)} long.`,
      all ? `The pale part reaches to the peak over ${network.title}.` : "",
      lines.length ? `Dashed lines: ${lines.map(memoryText).join(", ")}.` : "",
      nextMemory(most, Infinity, "length"),
    ].join(" ");
  };
  return { node: html("div", { class: "cl-arrays" }, bars, note), draw };
}
