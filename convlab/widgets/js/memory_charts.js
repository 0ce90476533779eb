// The two charts of the memory blow-up explorer: every layer of a network, and every array of one layer.

const GIB = 2 ** 30;
const MEMORIES = [
  [8 * GIB, "8 GiB", "laptop"],
  [16 * GIB, "16 GiB", "laptop"],
  [24 * GIB, "24 GiB", "graphics card"],
  [80 * GIB, "80 GiB", "data-centre GPU"],
];

/** The layer with the largest workspace, and the largest input of all. */
export function peak(all) {
  const largest = (key) => all.reduce((best, each, i) => (each[key] > all[best][key] ? i : best), 0);
  return { at: largest("workspace"), input: largest("x") };
}

/** Round steps for an axis of bytes: at most `count` of them. */
function ticks(most, count) {
  const step = 2 ** Math.ceil(Math.log2(most / count));
  return Array.from({ length: Math.floor(most / step) }, (_, i) => (i + 1) * step);
}

const tickText = (bytes) => bytesText(bytes).replace(/\.0+ /, " ").replace(/(\.\d)0 /, "$1 ");

/** What a layer's two bars say, in words. */
function layerWords({ layer, x, workspace, refused }, algorithm) {
  const input = `${layer.name}: input ${bytesText(x)}, `;
  if (refused) return `${input}${algorithm.name} refuses it.`;
  return `${input}${algorithm.name} workspace ${bytesText(workspace)}, ${ratioText(workspace / x)} its input.`;
}

/** Two bars a layer: the input, and the workspace of the chosen algorithm. `choose(i)` on a click or an arrow key. */
function layerChart(page, choose) {
  const [height, left, top, bottom] = [190, 58, 22, 24];
  const floor = height - bottom;
  let [width, count, chosen] = [0, 0, 0];
  const slot = () => (width - left - 4) / count;
  const picture = svg("svg", {
    class: "cl-grid", role: "application", "aria-roledescription": "bar chart", tabindex: 0, ...OWN_KEYS,
    onclick: page.guard((event) => {
      const box = picture.getBoundingClientRect();
      choose(Math.floor((((event.clientX - box.left) * width) / box.width - left) / slot()));
    }),
    onkeydown: page.guard((event) => {
      const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: 1, ArrowDown: -1, Home: -chosen, End: count };
      if (!(event.key in moves)) return;
      choose(chosen + moves[event.key]);
      event.preventDefault();
      event.stopPropagation();
    }),
  });
  const legend = html("div", { class: "cl-caption" });

  const draw = (network, all, layer, algorithm) => {
    [width, count, chosen] = [page.width() - 34, all.length, layer];
    const most = Math.max(...all.flatMap(({ x, workspace }) => [x, workspace]));
    const y = (bytes) => top + (floor - top) * (1 - bytes / most);
    const line = (bytes, kind) => svg("line", { x1: left, x2: width, y1: y(bytes), y2: y(bytes), class: kind });
    const bar = (x, bytes, kind) =>
      svg("rect", { x, y: y(bytes), width: Math.max(slot() * 0.36, 1), height: floor - y(bytes), class: kind });
    const text = (x, row, words, kind, anchor = "middle") => svg("text", { x, y: row, class: kind, "text-anchor": anchor }, words);
    /** Words under or over layer i, kept inside the picture. */
    const note = (i, row, words, kind = "") => {
      const half = words.length * 3.4;
      const x = clamp(left + (i + 0.5) * slot(), Math.min(left + half, width / 2), Math.max(width - half, width / 2));
      return text(x, row, words, `cl-note-text ${kind}`);
    };
    const { at } = peak(all);
    picture.replaceChildren(
      ...ticks(most, 4).flatMap((bytes) => [line(bytes, "cl-rule"), text(left - 7, y(bytes), tickText(bytes), "cl-tick", "end")]),
      svg("rect", { x: left + chosen * slot(), y: top - 4, width: slot(), height: floor - top + 4, class: "cl-slot" }),
      ...all.flatMap(({ x, workspace, refused }, i) => {
        const middle = left + (i + 0.5) * slot();
        const second = refused ? text(middle + slot() * 0.18, floor - 5, "–", "cl-tick") : bar(middle, workspace, "cl-bar-workspace");
        return [bar(middle - Math.max(slot() * 0.36, 1), x, "cl-bar-input"), second];
      }),
      line(0, "cl-base"),
      ...(all[at].workspace ? [note(at, 10, `peak ${bytesText(all[at].workspace)}`)] : []),
      note(chosen, height - 8, all[chosen].layer.name, "cl-strong"),
    );
    for (const [name, value] of [["viewBox", `0 0 ${width} ${height}`], ["width", width], ["height", height]]) {
      picture.setAttribute(name, value);
    }
    const summit = chosen === at && all[at].workspace ? " This is the peak." : "";
    picture.setAttribute("aria-label", `Layer ${chosen + 1} of ${count}, ${layerWords(all[chosen], algorithm)}${summit}`);
    legend.replaceChildren(`every convolution of ${network.title}, in order: `, chip("input", "input"), " ",
      chip("workspace", `${algorithm.name} workspace`));
  };
  return { node: html("div", { class: "cl-layers" }, legend, picture), draw };
}

/** A bar for each tensor and for each algorithm's workspace, on one linear axis. Made once, so that focus stays. */
function arrayChart(page) {
  const line = (label, role) => {
    const length = html("div", { class: `cl-length cl-${role}` });
    const words = html("span", { class: "cl-value-text" });
    return { length, words, node: html("div", { class: "cl-line" }, label, html("div", { class: "cl-track" }, length, words)) };
  };
  const tensors = [["x", "input"], ["w", "filter"], ["y", "output"]].map(([letter, role]) =>
    ({ letter, ...line(html("span", { class: "cl-name" }, chip(role, letter), role), role) }));
  const spaces = ALGORITHMS.map(({ name }) => {
    const input = html("input", {
      type: "radio", name: `${page.root.id}-algorithm`, value: name, ...OWN_KEYS, onchange: () => page.set({ algorithm: name }),
    });
    return { name, input, ...line(html("label", { class: "cl-name" }, input, html("span", {}, name)), "workspace") };
  });
  const marks = html("div", { class: "cl-marks", "aria-hidden": "true" });
  const note = html("div", { class: "cl-note" });
  const bars = html("div", { class: "cl-bars" },
    tensors.map((each) => each.node), html("div", { class: "cl-head cl-between" }, "and beside them, the workspace of"),
    spaces.map((each) => each.node), marks);

  const spaceWords = (bytes, x, reason) => {
    if (reason) return `refused: ${reason}`;
    return bytes ? `${bytesText(bytes)}, ${ratioText(bytes / x)} input` : "0, nothing beside x, w, y";
  };
  const draw = (here, refusals, problem, chosen) => {
    const bytes = ALGORITHMS.map(({ name, workspace }) => (refusals?.[name] ? 0 : workspace(letters(problem))));
    const most = Math.max(here.x, here.w, here.y, ...bytes);
    const set = (each, count, words) => {
      each.length.style.setProperty("--share", count / most);
      each.length.style.visibility = count ? "" : "hidden";
      each.words.textContent = words;
    };
    for (const each of tensors) set(each, here[each.letter], bytesText(here[each.letter]));
    spaces.forEach((each, i) => {
      each.input.checked = each.name === chosen;
      each.node.classList.toggle("cl-chosen", each.input.checked);
      set(each, bytes[i], spaceWords(bytes[i], here.x, refusals?.[each.name]));
    });
    const seen = MEMORIES.filter(([size]) => size <= most);
    const next = MEMORIES[seen.length];
    const crowded = (i) => i + 1 < seen.length && (seen[i + 1][0] - seen[i][0]) / most < 0.12;
    marks.replaceChildren(...seen.map(([size, words], i) =>
      html("div", { class: "cl-mark", style: `--share: ${size / most}` }, crowded(i) ? "" : html("span", {}, words))));
    bars.classList.toggle("cl-marked", seen.length > 0);
    note.textContent = [
      `All bars start at 0 on one linear axis, ${bytesText(most)} long.`,
      seen.length ? `Dashed lines: ${seen.map(([, words, what]) => `${words} (${what})`).join(", ")}.` : "",
      next ? `The next mark, ${next[1]} (${next[2]}), lies at ${ratioText(next[0] / most)} this length.` : "",
    ].join(" ");
  };
  return { node: html("div", { class: "cl-arrays" }, bars, note), draw };
}
