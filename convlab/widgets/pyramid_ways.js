// The ways to get the border across a cut, as bars of their seconds: from a message before every layer to one.

import { bytesText, fixed, timeText } from "./shared/numbers.js";
import { html, OWN_KEYS } from "./shared/page.js";
import { say } from "./shared/sentences.js";

// What both machines compute: stripes of both colours.
export const BOTH = "repeating-linear-gradient(-45deg, var(--cl-input) 0 4px, var(--cl-filter) 4px 8px)";
const PARTS = {
  own: ["own part", "var(--cl-muted)"],
  repeated: ["the other's rows", BOTH],
  waiting: ["latency", "radial-gradient(circle, var(--cl-paper) 0.9px, transparent 1.2px) 0 0 / 5px 5px var(--cl-active)"],
  sending: ["bytes", "var(--cl-active)"],
};

export const wayText = (every, layers) =>
  (every >= layers ? say("once") : every === 1 ? say("each") : say("between", { every }));

/** A colour and what it means, in one line. */
export const keyOf = (style, words) =>
  html("span", { class: "cl-together" }, html("span", { class: "cl-swatch", "aria-hidden": "true", style }), ` ${words}`);

/** What the colours of the bars mean. */
export const partsKey = () => Object.values(PARTS).flatMap(([words, background]) =>
  [keyOf(`background: ${background}`, words), " "]);

/** A bar for each way; the one that is chosen is drawn above. Made once, so that the focus stays. */
export function wayBars(page, most) {
  const lines = Array.from({ length: most }, (_, i) => {
    const choose = () => page.set({ every: i + 1 >= page.state().layers ? most : i + 1 }); // one stays one with more layers
    const input = html("input", { type: "radio", name: `${page.root.id}-every`, value: i + 1, ...OWN_KEYS, onchange: choose });
    const [name, length] = [html("span", { style: "font-size: 13px" }), html("span", { class: "cl-run" })];
    const words = html("span", { class: "cl-value-text cl-together" });
    const pieces = Object.values(PARTS).map(([, background]) => html("span", { class: "cl-part", style: `background: ${background}` }));
    length.append(html("span", { class: "cl-run-parts" }, pieces));
    const node = html("div", { class: "cl-line", onclick: choose, style: "cursor: pointer" },
      html("label", { class: "cl-name" }, input, name), html("div", { class: "cl-track" }, length, words));
    return { node, input, name, length, words, pieces };
  });
  const node = html("div", { class: "cl-bars", role: "radiogroup", "aria-label": "the border is sent" }, lines.map((line) => line.node));
  const draw = ({ ways, best, every }) => {
    const longest = Math.max(...ways.map(({ seconds }) => seconds));
    lines.forEach(({ node: row, input, name, length, words, pieces }, i) => {
      row.hidden = i >= ways.length;
      row.style.display = row.hidden ? "none" : "";
      if (row.hidden) return;
      const way = ways[i];
      input.checked = i + 1 === every;
      name.textContent = wayText(i + 1, ways.length);
      name.style.fontWeight = i + 1 === every ? 650 : "";
      row.classList.toggle("cl-chosen", i + 1 === best);
      length.style.setProperty("--share", way.seconds / longest);
      Object.keys(PARTS).forEach((part, j) => (pieces[j].style.flex = `${(1e3 * way[part]) / way.seconds} 0 0`));
      words.replaceChildren(timeText(way.seconds), i + 1 === best ? html("b", {}, " cheapest") : "");
    });
  };
  return { node, draw };
}

/** The ends of the scale, and what is shown or cheapest between them, in numbers. */
export function wayTable({ ways, best, every }) {
  const shown = [...new Set([1, ways.length, every, best])].filter(Boolean).sort((one, other) => one - other);
  const head = ["border sent", "messages each way", "bytes sent", "work done twice"];
  const line = (one) => {
    const { messages, bytes, share } = ways[one - 1];
    return html("tr", { class: one === best ? "cl-now" : "" }, html("th", { scope: "row" }, wayText(one, ways.length)),
      [messages, bytesText(bytes), `${fixed(100 * share, 1)} %`].map((text) => html("td", {}, `${text}`)));
  };
  return html("table", { class: "cl-costs" },
    html("thead", {}, html("tr", {}, head.map((text, i) => html("th", { scope: "col", style: i ? null : "text-align: left; padding-left: 0" }, text)))), html("tbody", {}, shown.map(line)));
}
