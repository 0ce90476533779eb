// The state of a figure as the fragment of an address: "#SlidingWindow-1a2b:stride_h=3&own.R=5". It says what
// differs from the state that the figure opens in, and no more.

/** An object's entries by "name.entry", so that each of them may differ by itself. */
const flat = (state) => Object.entries(state).flatMap(([name, value]) => (value !== null && typeof value === "object"
  ? Object.entries(value).map(([entry, one]) => [`${name}.${entry}`, one]) : [[name, value]]));

/** The fragment for a state; `name` is the figure's, by which it is found again. */
export function fragmentOf(name, opening, state) {
  const before = new Map(flat(opening));
  const changed = flat(state).filter(([key, value]) => before.get(key) !== value);
  return `#${name}:${changed.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&")}`;
}

/** The figure that a fragment is for, and its "key=value" pairs; null if it is no link to a figure. */
export function readFragment(fragment) {
  const found = /^#(([A-Z]\w*)-[0-9a-f]+(?:\.\d+)?):(.*)$/.exec(fragment);
  return found && { name: found[1], kind: found[2], pairs: found[3].split("&").filter(Boolean) };
}

/** A value as the figure has it: text stays text, anything else is a number or a switch. */
function valued(text, before) {
  if (typeof before === "string") return text;
  return text === "true" ? true : text === "false" ? false : text === "" ? NaN : Number(text);
}

/** Whether a value is allowed: from the least to the most, or one of several. */
function allowed(value, before, limits) {
  if (typeof value !== typeof before) return false;
  if (!limits) return typeof value === "boolean";
  if (typeof value !== "number" || limits.length !== 2) return limits.includes(value);
  return Number.isInteger(value) && value >= limits[0] && value <= limits[1];
}

/** The state that the pairs describe: { state }, or { trouble }, the first pair that says nothing here. */
export function stateOf(pairs, opening, limits) {
  const state = structuredClone(opening);
  const before = new Map(flat(opening));
  for (const pair of pairs) {
    const [key, text] = [pair.slice(0, pair.indexOf("=")), decoded(pair.slice(pair.indexOf("=") + 1))];
    const value = text === null ? null : valued(text, before.get(key));
    if (!before.has(key) || !allowed(value, before.get(key), limits[key])) return { trouble: pair };
    const [name, entry] = key.split(".");
    if (entry) state[name][entry] = value;
    else state[name] = value;
  }
  return { state };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return null; // a link that was cut
  }
}

/** The fragment of the address. JupyterLab drops it while it loads: then the one that the page was opened with. */
export function fragments() {
  const [opened] = performance.getEntriesByType("navigation");
  const before = opened?.name.includes("#") ? opened.name.slice(opened.name.indexOf("#")) : "";
  return [...new Set([location.hash, before])].filter(Boolean);
}
