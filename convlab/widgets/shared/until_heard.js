// What a reader did, kept in the browser until Python has heard of it; for good where there is no Python.

import { browserMemory } from "./memory.js";
import { say } from "./sentences.js";

const PATIENCE = 4000; // milliseconds until it is said that Python does not answer

/** How long Python has been asked for an answer: `ask()` now, `over()` when it is too long, and then the page is drawn anew. */
export function patienceOf(page) {
  let [asked, timer] = [performance.now(), null];
  page.onEnd(() => clearTimeout(timer));
  return {
    ask() {
      clearTimeout(timer);
      [asked, timer] = [performance.now(), setTimeout(page.refresh, PATIENCE + 50)];
    },
    over: () => performance.now() - asked > PATIENCE,
  };
}

/**
 * A list of the model's that grows by what the reader does, such as their guesses. Python keeps it, and says of how
 * many it has `heard`. `clean(one)` is [] for what is none of them, else [one]; without a `key` nothing is kept.
 */
export function listOf(page, model, { name, key, clean }) {
  const memory = browserMemory(model.alone ? key : `${key}, not handed in`);
  const patience = patienceOf(page);
  const list = () => page.data(name);
  const kept = () => {
    const found = key ? memory.kept() : [];
    return Array.isArray(found) ? found.flatMap(clean) : [];
  };
  /** The list, and what only the browser has: another tab has added it, or Python has never heard of it. */
  function whole() {
    const known = new Set(list().map((one) => JSON.stringify(one)));
    return [...list(), ...kept().filter((one) => !known.has(JSON.stringify(one)))];
  }
  function set(all) {
    page.set({ [name]: all });
    patience.ask();
  }
  if (whole().length > list().length) set(whole());

  return {
    add(one) {
      const before = whole();
      if (key) memory.keep([...kept(), one]);
      set([...before, one]);
    },
    /** What to say where Python should have answered by now. What it has heard of is forgotten here. */
    waiting() {
      if (model.alone || !key) return "";
      if (page.data("heard") < list().length) return patience.over() ? say("waiting") : "";
      if (kept().length) memory.keep(whole().slice(list().length));
      return "";
    },
  };
}
