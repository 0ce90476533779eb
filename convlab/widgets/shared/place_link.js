// A link to a place in the course: in JupyterLab the notebook opens beside this one, in the book it is a page.

import { html } from "./page.js";

/** `file` is a notebook's, perhaps with "#A-heading" behind it; without one only the words stand there. */
export function placeLink(file, ...words) {
  if (!file) return html("span", {}, words);
  if (!document.getElementById("jupyter-config-data")) return html("a", { href: pageOf(file) }, words);
  const folder = location.pathname.includes("/tree/") ? "" : `${location.pathname.replace(/\/$/, "")}/tree/`;
  return html("a", { href: folder + file, target: "_blank", rel: "noopener" }, words);
}

/** The book's page of a notebook; a heading's name there is in small letters, with lines for all else. */
function pageOf(file) {
  const [name, heading] = file.split("#");
  const anchor = heading?.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  return name.replace(/\.ipynb$/, ".html") + (anchor ? `#${anchor}` : "");
}
