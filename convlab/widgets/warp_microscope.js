// The warp microscope: one request of one warp; 32 lanes above, the sectors or the banks that they meet in below.

import { bytesText, digits, plural } from "./shared/numbers.js";
import { chip, html, live, OWN_KEYS, player, select, sentence } from "./shared/page.js";
import { Grid } from "./shared/grid.js";
import { guide } from "./shared/guide.js";
import { scrollHint } from "./shared/scroll.js";
import { say } from "./shared/sentences.js";
import { linesOf, passesOf } from "./warp_requests.js";

const SECTOR = 32;
const ROLE_OF = { x: "input", w: "filter", y: "output" };
const roleOf = (array) => ROLE_OF[array] ?? "workspace";
const unitOf = ({ space }) => (space === "shared" ? ["pass", "passes"] : ["sector", "sectors"]);
const round = (value) => `${Number(value.toPrecision(4))}`;
const eachOf = (access) => {
  const each = round(access.cost / access.count);
  return `${each} ${unitOf(access)[each === "1" ? 0 : 1]}`;
};
const verb = ({ kind }) => (kind === "ld" ? "reads" : "writes");

/** The kernel, the access and the request that are shown. */
function shownIn({ kernels, kernel, access, step }) {
  const one = kernels[Math.min(kernel, kernels.length - 1)];
  const place = one.accesses[Math.min(access, one.accesses.length - 1)];
  const at = Math.min(step, place.requests.length - 1);
  return { kernel: one, access: place, step: at, request: place.requests[at] };
}

/** The name of the number at a byte: x[2, 5]; a place in shared memory counts from the start of its array. */
function nameOf({ array, shape, itemsize, base = 0 }, at) {
  let flat = (at - base) / itemsize;
  const index = shape.toReversed().map((size) => {
    const i = flat % size;
    flat = (flat - i) / size;
    return i;
  });
  return `${array}[${index.reverse().join(", ")}]`;
}

const numberOf = ({ itemsize, base = 0 }, at) => (at - base) / itemsize;

/** Digits of the largest number that a lane asks for. */
const longest = (access, { lanes }) => String(numberOf(access, Math.max(...lanes.map((at) => at ?? 0)))).length;

/** Whether a kernel is shown for what is wrong with it. */
const wrong = (kernels) => kernels.some(({ accesses }) => accesses.some(({ requests }) => requests.some(({ flaw }) => flaw)));

function build(page) {
  let lane = null; // the lane under the pointer
  let word = null; // { row, column } under the pointer in the memory
  const now = () => shownIn(page.state());
  const lanes = new Grid(page, { role: "lanes", look(at) { lane = at && at.column; page.refresh(); } });
  const memory = new Grid(page, { role: "memory", look(at) { word = at; page.refresh(); } });

  const title = html("div", { class: "cl-title" });
  const source = html("div", { class: "cl-source", tabindex: 0, role: "region", "aria-label": "source of the kernel", ...OWN_KEYS });
  const accesses = html("div", { class: "cl-accesses", role: "radiogroup", "aria-label": "access" });
  const words = { lanes: html("span"), memory: html("span"), counts: html("div", { class: "cl-counts" }), all: html("div") };
  const [chipLanes, chipMemory] = [html("b"), html("b")];
  const story = sentence(page);
  const figure = (grid, name, caption) => html("div", { class: "cl-figure" },
    html("div", { class: "cl-caption" }, name, " ", caption), grid.box);
  let built = null; // the kernel whose source and accesses stand there
  let marked = null; // the access whose line is in sight

  page.root.append(
    title,
    guide(page, wrong(page.data("kernels")) ? "Your kernel, where it goes wrong. Step on, or look at its other accesses."
      : "Step through the requests, and look at the other accesses: which one costs the most?"),
    html("div", { class: "cl-bar" }, html("label", { class: "cl-field" }, html("span", { class: "cl-knob" }, "kernel"),
      select(page, {
        name: "kernel", label: "kernel", options: page.data("kernels").map(({ name }, i) => [i, name]),
        write: (value) => ({ kernel: Number(value), access: 0, step: 0 }),
      }))),
    html("div", { class: "cl-scope" }, html("div", {}, source, scrollHint(page, source)), accesses),
    figure(lanes, chipLanes, words.lanes), figure(memory, chipMemory, words.memory),
    player(page, {
      name: "step", label: "request", count: (state) => shownIn(state).access.requests.length, pause: 700,
      say(state) {
        const { access, step } = shownIn(state);
        return `request ${step + 1} of ${digits(access.count)}`;
      },
    }),
    story,
    html("div", { class: "cl-panel" }, words.counts, words.all));

  /** The source with a number at each line, and a radio button for each access. */
  function lay(state, kernel) {
    built = kernel;
    source.replaceChildren(...kernel.source.map((line) =>
      html("div", {}, html("span", { class: "cl-number-of-line" }, `${line.number}`), html("code", {}, line.text || " "))));
    accesses.replaceChildren(...kernel.accesses.map((access, i) => {
      const input = html("input", {
        type: "radio", name: `${page.root.id}-access`, value: i, ...OWN_KEYS, onchange: () => page.set({ access: i, step: 0 }),
      });
      const each = `${eachOf(access)} a request`;
      return html("label", { class: "cl-access" }, input, html("span", {},
        `line ${access.line}${access.file === kernel.source[0].file ? "" : ` of ${access.file}`} ${verb(access)} `, chip(roleOf(access.array), access.array),
        access.space === "shared" ? " (shared)" : "", html("span", { class: "cl-each" }, each)));
    }));
  }

  return function draw(state) {
    const { kernel, access, step, request } = shownIn(state);
    const [role, shared] = [roleOf(access.array), access.space === "shared"];
    if (built !== kernel) lay(state, kernel);
    kernel.accesses.forEach((one, i) => (accesses.children[i].firstChild.checked = one === access));
    kernel.source.forEach((line, i) => mark(source.children[i], line, access));
    if (marked !== access && source.clientHeight) { // not yet, where the page is not laid out: it draws again then
      reveal(source, source.querySelector(".cl-here"));
      marked = access;
    }
    title.textContent = request.flaw?.text || findingOf(access, request);

    const rows = shared ? passesOf(request) : linesOf(request);
    const lanesAt = (row, column) => (shared ? rows[row].get(column)?.lanes : rows[row][1].get(column)) ?? [];
    const chosen = lane !== null ? [lane] : word && word.row < rows.length ? lanesAt(word.row, word.column) : request.flaw?.lanes ?? [];
    story.textContent = told(kernel, access, step, { lane, word, rows, shared, lanesAt });

    lanes.draw({
      rows: 1, columns: 32, width: 26, height: 24, group: 8, start: { row: 0, column: 0 }, names: 34,
      rowNames: () => "lane", columnNames: (i) => i, digits: longest(access, request),
      cell(_, i) {
        const at = request.lanes[i];
        const lit = chosen.includes(i) ? "cl-lit" : "";
        if (at === null) return { kind: `cl-ghost ${lit}` };
        return { kind: `cl-${role} ${lit}`, text: numberOf(access, at) };
      },
      label: `What the 32 lanes ask for. ${story.textContent}`,
    });
    memory.draw({
      rows: rows.length, columns: 32, width: 26, height: rows.length > 8 ? 14 : 22, group: 8, start: { row: 0, column: 0 }, names: 34,
      rowNames: (i) => (shared ? i + 1 : digits(numberOf(access, rows[i][0] * 128))),
      columnNames: shared ? (i) => i : (i) => (i % 8 ? "" : `+${(i * 4) / access.itemsize}`),
      cell(i, j) {
        const served = lanesAt(i, j);
        const lit = served.some((one) => chosen.includes(one)) ? "cl-lit" : "";
        const text = served.length > 1 ? `${served.length}×` : served[0] ?? "";
        if (served.length) return { kind: `cl-${role} ${lit}`, text };
        const moved = !shared && [0, 1, 2, 3, 4, 5, 6, 7].some((k) => rows[i][1].has((j & 24) + k));
        return { kind: moved ? "cl-padding" : "cl-ghost" };
      },
      label: `${shared ? "Shared memory: a row is a pass, a column is a bank" : "Memory: a row is a line of four sectors"}. ${title.textContent}.`,
    });
    for (const name of [chipLanes, chipMemory]) name.className = `cl-chip cl-${role}`;
    chipLanes.textContent = access.array;
    chipMemory.textContent = shared ? "banks" : "sectors";
    words.lanes.textContent = "which number of it each lane asks for";
    words.memory.textContent = shared
      ? "a column is a bank, a row a pass over all of them; in a cell the lane that it serves"
      : "a row is a line of 128 bytes, a group of eight a sector; in a cell the lane that asks; hatched: moved, not asked for";
    words.counts.replaceChildren(...countsOf(access, request, role));
    words.all.textContent = allOf(access);
  };
}

/** Mark the line of the access, and the expression in it. */
function mark(item, line, { file, line: at, begin, end }) {
  const on = line.number === at && line.file === file;
  item.className = on ? "cl-here" : "";
  const parts = on ? [line.text.slice(0, begin), html("mark", {}, line.text.slice(begin, end)), line.text.slice(end)] : [line.text || " "];
  item.lastChild.replaceChildren(...parts);
}

/** Bring a line into sight, without moving the page. */
function reveal(box, line) {
  if (!line) return;
  const [top, bottom] = [line.offsetTop - box.offsetTop, line.offsetTop - box.offsetTop + line.offsetHeight];
  if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 2;
}

function findingOf(access, { cost, least, wanted }) {
  const enough = cost <= least;
  if (access.space === "shared") return say(enough ? "no_conflict" : "conflict", { passes: plural(cost, "pass", "passes"), cost, least });
  const ratio = Number(((cost * SECTOR) / wanted).toPrecision(3));
  return say(enough ? "whole" : "in_vain", { sectors: plural(cost, "sector"), wanted: bytesText(wanted), cost, least, ratio });
}

/** One sentence on what is pointed at, or on the request. */
function told(kernel, access, step, { lane, word, rows, shared, lanesAt }) {
  const request = access.requests[step];
  if (lane !== null) {
    const at = request.lanes[lane];
    if (at === null) return `Lane ${lane} takes no part: it went another way, or its thread has returned.`;
    const bank = Math.floor(at / 4) % 32;
    const where = shared ? `bank ${bank}${request.size > 4 ? ` to ${(bank + request.size / 4 - 1) % 32}` : ""}` : `sector ${digits(Math.floor(at / SECTOR))} of the array`;
    const name = (request.flaw?.lanes.includes(lane) && request.flaw.name) || nameOf(access, at);
    return `Lane ${lane} ${verb(access)} ${name}, in ${where}.`;
  }
  if (word && word.row < rows.length) {
    const served = lanesAt(word.row, word.column);
    if (shared) {
      if (!served.length) return `Bank ${word.column} has nothing to do in this pass.`;
      const name = nameOf(access, request.lanes[served[0]]);
      return `Bank ${word.column}, pass ${word.row + 1}: ${name} for ${served.length > 1 ? `${served.length} lanes at once` : `lane ${served[0]}`}.`;
    }
    const sector = rows[word.row][0] * 4 + (word.column >> 3);
    if (served.length) return `Sector ${digits(sector)}: ${nameOf(access, request.lanes[served[0]])} for ${served.length > 1 ? `${served.length} lanes at once` : `lane ${served[0]}`}.`;
    return `Nobody asked for these 4 bytes. If their sector is touched, they are moved all the same.`;
  }
  const active = request.lanes.filter((at) => at !== null).length;
  return say("request", {
    ...access, ...request, step: step + 1, count: digits(access.count),
    lanes: plural(active, "lane"), verb: verb(access), wanted: bytesText(request.wanted),
  });
}

function countsOf(access, { cost, wanted, lanes }, role) {
  const fact = (tone, value, said) =>
    html("div", { class: "cl-count" }, html("b", { class: `cl-chip cl-${tone}` }, value), html("span", {}, said));
  const [one, many] = unitOf(access);
  const active = lanes.filter((at) => at !== null).length;
  const shared = access.space === "shared";
  return [
    fact(role, `${active}`, active === 1 ? "lane" : "lanes"), fact(role, bytesText(wanted), "asked for"),
    fact("active", `${cost}`, cost === 1 ? one : many), ...(shared ? [] : [fact("active", bytesText(cost * SECTOR), "moved")]),
  ];
}

/** All requests of the access together. */
function allOf(access) {
  const { count, cost, least, lanes, requests } = access;
  const [, many] = unitOf(access);
  const shown = requests.length < count ? ` The first ${requests.length} are shown.` : "";
  return `All ${plural(count, "request")} of this access: ${round(lanes / count)} lanes and ${eachOf(access)} each, ` +
    `${digits(cost)} ${many} in all; ${digits(least)} at best.${shown}`;
}

const NAMES = ["kernel", "access", "step", "kernels"];
export default { render: (context) => live(context, { kind: "microscope", names: NAMES, build }) };
