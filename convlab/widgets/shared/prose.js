// Text that Python wrote for people, with its `code` and *emphasis*.

import { html } from "./page.js";

export function marked(text) {
  const mark = (part) =>
    part.length > 2 && part.startsWith("`") ? html("code", {}, part.slice(1, -1))
      : part.length > 2 && part.startsWith("*") ? html("em", {}, part.slice(1, -1)) : part;
  return text.split(/(`[^`]+`|\*[^*\s][^*]*\*)/).map(mark);
}

/** Paragraphs of it, with an empty line between them. */
export const prose = (text) =>
  text.split(/\n\s*\n/).filter((one) => one.trim()).map((one) => html("p", {}, marked(one.trim())));
