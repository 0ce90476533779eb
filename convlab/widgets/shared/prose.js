// Text that Python wrote for people, with its `code` and *emphasis*.

import { html } from "./page.js";

// As in convlab/support/wrapping.py.
const WITH_UNIT = /(\d[\d.,]* (?:(?:[kMGT]?FLOP|[KMGT]?i?B|[mµn]?s|k)(?!\w)|%))/;

/** Text in which no line ends between a number and its unit. */
export const whole = (text) =>
  text.split(WITH_UNIT).map((part, i) => (i % 2 ? html("span", { class: "cl-whole" }, part) : part));

export function marked(text) {
  const mark = (part) =>
    part.length > 2 && part.startsWith("`") ? html("code", {}, part.slice(1, -1))
      : part.length > 2 && part.startsWith("*") ? html("em", {}, part.slice(1, -1)) : whole(part);
  return text.split(/(`[^`]+`|\*[^*\s][^*]*\*)/).flatMap(mark);
}

/** Paragraphs of it, with an empty line between them. */
export const prose = (text) =>
  text.split(/\n\s*\n/).filter((one) => one.trim()).map((one) => html("p", {}, marked(one.trim())));
