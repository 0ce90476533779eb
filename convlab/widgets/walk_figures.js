// The figures of a walk-through: the course's own, each with a model that the points set, as no kernel would.

import { standIn } from "./shared/alone.js";
import { html } from "./shared/page.js";
import { scrollBox } from "./shared/scroll.js";

/** What Python packed: the modules' text by kind, and the figures by name. */
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(plain).json();
}

const imported = (text) => import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));

/** A stage for one figure at a time: `show(name, changes)` opens it, or sets it to its opening state and changes. */
export function figureStage(page) {
  const node = html("div", { class: "cl-walk-stage" });
  const all = unpacked(page.data("packed"));
  const [modules, started] = [{}, {}];
  let wanted = "";

  async function start(name) {
    const { modules: texts, figures } = await all;
    const { kind, state, html: picture } = figures[name];
    const host = html("div", { class: "cl-walk-figure" });
    node.append(host);
    if (picture !== undefined) {
      const drawn = html("div", { class: "cl-walk-picture" });
      drawn.innerHTML = picture; // Python wrote it, with its words for those who cannot see it
      host.append(scrollBox(page, drawn));
      return { host, set: page.refresh };
    }
    const { default: widget } = await (modules[kind] ??= imported(texts[kind]));
    const model = standIn(state);
    page.onEnd(widget.render({ model, el: host }));
    const set = (changes) => Object.entries(structuredClone({ ...state.opening, ...changes })).forEach(([one, value]) => model.set(one, value));
    return { host, set };
  }

  async function show(name, changes) {
    wanted = name;
    node.setAttribute("aria-busy", "true");
    try {
      const { host, set } = await (started[name] ??= start(name));
      set(changes);
      host.hidden = wanted !== name; // the reader may have gone on meanwhile
      if (host.hidden) return;
      for (const one of node.children) one.hidden = one !== host;
      node.removeAttribute("aria-busy");
    } catch (error) {
      node.replaceChildren(html("p", { role: "alert" }, `The picture did not start: ${error.message}`));
    }
  }

  return { node, show };
}
