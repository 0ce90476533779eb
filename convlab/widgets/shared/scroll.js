// A picture that is wider or higher than its place scrolls in a box of its own, and a line says what is out of sight.

import { plural } from "./numbers.js";
import { html, OWN_KEYS } from "./page.js";

/**
 * Put a picture into such a box. `lines()` gives the edges of its columns and rows, { columns, rows }: pairs of
 * where each begins and ends in the picture's own pixels; without it only directions are named.
 */
export function scrollBox(page, picture, lines = null) {
  const box = html("div", { class: "cl-scroll", ...OWN_KEYS }, picture);
  return html("div", { class: "cl-scrolls" }, box, scrollHint(page, box, lines, (scrolls) => {
    // Without this the keyboard could not scroll it; a picture that takes the focus scrolls with its cursor.
    for (const [name, value] of [["tabindex", 0], ["role", "group"], ["aria-label", "picture that scrolls"]]) {
      if (scrolls && picture.tabIndex < 0) box.setAttribute(name, value);
      else box.removeAttribute(name);
    }
  }));
}

/** The line below a box that scrolls; `tell(scrolls)` hears whether there is anything to scroll to. */
export function scrollHint(page, box, lines = null, tell = () => {}) {
  const hint = html("div", { class: "cl-hint" });
  const look = () => {
    // A box as wide as its picture makes room for the scrollbar of its rows by itself, but not in Firefox: there the
    // scrollbar would lie over a column, and ask for another one to reach it.
    box.style.scrollbarGutter = box.scrollHeight > box.clientHeight ? "stable" : "";
    // A finger that is drawn across the picture scrolls it where there is more at the sides; else it points at what it passes.
    box.classList.toggle("cl-sideways", box.scrollWidth > box.clientWidth + 2);
    const words = box.clientWidth ? outOfSight(box, lines?.()) : [];
    hint.dataset.ways = waysOf(words);
    hint.textContent = words.length ? `Scroll: ${words.join(", ")}.` : "";
    hint.hidden = !words.length;
    tell(words.length > 0);
  };
  box.addEventListener("scroll", look);
  page.onDrawn(look);
  return hint;
}

/** The arrows of the directions in which there is more. */
const waysOf = (words) => (words.some((one) => /(right|left)$/.test(one)) ? "↔" : "") +
  (words.some((one) => /(below|above)$/.test(one)) ? "↕" : "");

function outOfSight(box, lines) {
  const [right, below] = [box.scrollLeft + box.clientWidth, box.scrollTop + box.clientHeight];
  const count = (edges, hidden, one) => (edges ? plural(edges.filter(hidden).length, `more ${one}`) : "more");
  const words = []; // a name in the margin of a picture is no column
  if (box.scrollWidth > right + 2) words.push(`${count(lines?.columns, ([, end]) => end > right, "column")} to the right`);
  if (box.scrollLeft > 2) words.push(`${count(lines?.columns, ([begin]) => begin < box.scrollLeft, "column")} to the left`);
  if (box.scrollHeight > below + 2) words.push(`${count(lines?.rows, ([, end]) => end > below, "row")} below`);
  if (box.scrollTop > 2) words.push(`${count(lines?.rows, ([begin]) => begin < box.scrollTop, "row")} above`);
  return words.filter((one) => !one.startsWith("0 "));
}
