// What every figure is made of: a page that redraws when the state changes, and controls that have names.

const SVG = "http://www.w3.org/2000/svg";

export function make(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat());
  return node;
}

/** An HTML element: html("div", { class: "cl-row" }, "text", child). */
export const html = (tag, attributes = {}, ...children) => make(document.createElement(tag), attributes, children);

/** An SVG element. */
export const svg = (tag, attributes = {}, ...children) => make(document.createElementNS(SVG, tag), attributes, children);

/** A name or a number with the tint of the role it plays: chip("input", "H"). */
export const chip = (role, ...content) => html("span", { class: `cl-chip cl-${role}` }, ...content);

/** Text that is the same is left alone: a selection in it stays, and nothing is read out again. */
export const write = (node, text) => node.textContent !== text && (node.textContent = text);

export const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

let pages = 0;

/** A name no other figure on this page has; several of a kind must not clash. */
const unique = () => `cl${++pages}-${Math.random().toString(36).slice(2, 8)}`;

// Without this JupyterLab takes the arrow keys for its own shortcuts. It must sit on the focused element itself.
const SUPPRESS = "data-lm-suppress-shortcuts";
export const OWN_KEYS = { [SUPPRESS]: "true" };

/**
 * Start a figure: `build(page)` makes the elements once and returns `draw(state)`, which runs at every change.
 * `names` are the model's values the figure reads. Returns the function that takes the figure down.
 */
export function live({ model, el }, { kind, names, build }) {
  const root = html("div", { class: `convlab cl-${kind}`, id: unique(), "data-figure": model.get("key") });
  const [updates, reshapings, drawn, endings] = [[], [], [], []];
  let draw = () => {};
  let before = {};
  let queued = false;
  let alert = null;

  const page = {
    root,
    playing: false,
    data: (name) => model.get(name),
    limits: (name) => model.get("limits")[name],
    state: () => Object.fromEntries(names.map((name) => [name, model.get(name)])),
    width: () => Math.max(root.clientWidth || 760, 240), // a page may be narrow, or not laid out yet
    set(changes) {
      for (const [name, value] of Object.entries(changes)) model.set(name, value);
      model.save_changes();
      page.refresh();
    },
    refresh() {
      if (queued) return; // many changes, one redraw
      queued = true;
      queueMicrotask(() => {
        queued = false;
        page.guard(() => {
          const state = page.state();
          if (names.some((name) => name !== "step" && state[name] !== before[name])) for (const forget of reshapings) forget();
          before = state;
          for (const update of updates) update(state);
          draw(state);
          for (const look of drawn) look();
          alert?.remove();
        })();
      });
    },
    onUpdate: (update) => updates.push(update),
    /** Before a drawing in which more than the step is another than in the last one: cells may lie elsewhere, or be gone. */
    onReshape: (forget) => reshapings.push(forget),
    onDrawn: (look) => drawn.push(look),
    onEnd: (ending) => endings.push(ending),
    /** An error must show where it happens, never vanish. */
    guard: (action) => (...args) => {
      try {
        return action(...args);
      } catch (error) {
        alert?.remove();
        alert = html("div", { class: "cl-alert", role: "alert" }, `This figure has stopped: ${error.message}`);
        root.append(alert);
        console.error(error);
      }
    },
  };

  el.replaceChildren(root);
  page.guard(() => (draw = build(page)))();
  for (const name of names) model.on(`change:${name}`, page.refresh);
  const observer = new ResizeObserver(page.refresh);
  observer.observe(root);
  page.refresh();
  // But Ctrl+S saves the notebook, also from a slider. JupyterLab looks when the document is told, the window hears it before.
  const saves = (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s" || !root.contains(event.target)) return;
    const own = event.target.closest(`[${SUPPRESS}]`);
    own?.removeAttribute(SUPPRESS);
    setTimeout(() => own?.setAttribute(SUPPRESS, "true"));
  };
  window.addEventListener("keydown", saves, true);
  return () => {
    observer.disconnect();
    window.removeEventListener("keydown", saves, true);
    for (const name of names) model.off(`change:${name}`, page.refresh);
    for (const ending of endings) ending();
    root.remove(); // whoever keeps the place, as anywidget does, does not keep the figure with it
  };
}

/** A whole number to type, to step with the arrow keys or with − and +. `at` reads and writes it, and may know a lower end. */
export function numberBox(page, { name, label, limits = page.limits(name), at }) {
  const [least, most] = limits;
  const read = at?.read ?? ((state) => state[name]);
  const changes = at?.write ?? ((value) => ({ [name]: value }));
  const end = (state) => at?.end?.(state) ?? most;
  const write = page.guard((value) => page.set(changes(clamp(value, least, end(page.state())))));
  const input = html("input", {
    type: "number", min: least, max: most, step: 1, "aria-label": label, class: "cl-number", ...OWN_KEYS,
    oninput: () => input.value !== "" && input.checkValidity() && write(Number(input.value)),
    onchange: () => (input.value === "" ? page.refresh() : write(Math.round(Number(input.value)))),
    onblur: page.refresh,
  });
  // The buttons are for the mouse; the keyboard has the arrow keys in the box itself.
  const nudge = (by, sign) => html("button", {
    type: "button", tabindex: -1, "aria-hidden": "true", class: "cl-nudge", onclick: () => write(read(page.state()) + by),
  }, sign);
  const [less, more] = [nudge(-1, "−"), nudge(1, "+")];
  page.onUpdate((state) => {
    const value = read(state);
    const typing = document.activeElement === input && (input.value === "" || !input.checkValidity());
    if (!typing && input.value !== String(value)) input.value = value;
    less.disabled = value <= least;
    input.max = end(state);
    more.disabled = value >= end(state);
  });
  return html("span", { class: "cl-box" }, less, input, more);
}

/** A switch with its label. */
export function toggle(page, { name, label }) {
  const input = html("input", { type: "checkbox", ...OWN_KEYS, onchange: () => page.set({ [name]: input.checked }) });
  page.onUpdate((state) => (input.checked = state[name]));
  return html("label", { class: "cl-toggle" }, input, html("span", {}, label));
}

/** One of a few: radio buttons side by side. `options` is [[value, text], ...]. */
export function segments(page, { name, label, options, write = (value) => ({ [name]: value }) }) {
  const group = `${page.root.id}-${name}`;
  const inputs = options.map(([value]) => html("input", {
    type: "radio", name: group, value, ...OWN_KEYS, onchange: () => page.set(write(value)),
  }));
  page.onUpdate((state) => inputs.forEach((input) => (input.checked = input.value === state[name])));
  const labels = options.map(([, text], i) => html("label", {}, inputs[i], html("span", {}, text)));
  return html("span", { class: "cl-segments", role: "radiogroup", "aria-label": label }, labels);
}

/** One of many: a list to choose from. */
export function select(page, { name, label, options, read = (state) => state[name], write = (value) => ({ [name]: value }) }) {
  const input = html("select", { "aria-label": label, ...OWN_KEYS, onchange: () => page.set(write(input.value)) },
    options.map(([value, text]) => html("option", { value }, text)));
  page.onUpdate((state) => (input.value = read(state)));
  return input;
}

/** Controls that one can do without at first, behind one button. */
export const more = (...controls) =>
  html("details", { class: "cl-more" }, html("summary", OWN_KEYS, "More controls"), html("div", { class: "cl-more-controls" }, controls));

/** A form: Enter in one of its fields, or its button, is `submit()`. */
export function fieldForm(page, submit, ...children) {
  const node = html("form", {
    class: "cl-guess-form", novalidate: true,
    onsubmit: page.guard((event) => {
      event.preventDefault();
      submit();
    }),
    onkeydown: (event) => {
      // JupyterLab forbids line breaks in its cells, and with them the way from a field's Enter to the form.
      if (event.key !== "Enter" || event.isComposing || !event.target.matches("input")) return;
      event.preventDefault();
      node.requestSubmit();
    },
  }, ...children);
  return node;
}

/** A slider. `count(state)` is the number of positions; `say(state)` is what a screen reader hears. */
export function slider(page, { name, label, count, say, at }) {
  const read = at?.read ?? ((state) => clamp(state[name], 0, Math.max(count(state) - 1, 0)));
  const write = at?.write ?? ((value) => ({ [name]: value }));
  const input = html("input", {
    type: "range", min: 0, step: 1, "aria-label": label, ...OWN_KEYS, oninput: () => page.set(write(Number(input.value))),
  });
  page.onUpdate((state) => {
    input.max = Math.max(count(state) - 1, 0);
    input.value = read(state);
    input.style.setProperty("--at", `${(100 * input.value) / Math.max(input.max, 1)}%`);
    input.disabled = count(state) < 2;
    input.setAttribute("aria-valuetext", say(state));
  });
  return input;
}

/** Sentences for those who should know that something is amiss, read aloud: `tell(...)`, where "" is none. */
export function notice() {
  const node = html("p", { class: "cl-note", role: "status" });
  const tell = (...sentences) => write(node, sentences.filter(Boolean).join(" "));
  return { node, tell };
}

/** The sentence below a picture: read aloud when it changes, except while the figure plays. */
export function sentence(page) {
  const words = html("div", { class: "cl-story" });
  page.onUpdate(() => words.setAttribute("aria-live", page.playing ? "off" : "polite"));
  return words;
}

/** A play button before a slider: the figure walks through its steps, and stops at the last. */
export function player(page, { name, label, count, say, pause = 550 }) {
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    page.playing = false;
    page.refresh();
  };
  const walk = page.guard(() => {
    const state = page.state();
    if (state[name] + 1 >= count(state)) stop();
    else page.set({ [name]: state[name] + 1 });
  });
  const start = () => {
    const state = page.state();
    if (state[name] + 1 >= count(state)) page.set({ [name]: 0 });
    timer = setInterval(walk, pause);
    page.playing = true;
    page.refresh();
  };
  const press = () => (timer ? stop() : start());
  const button = html("button", { type: "button", class: "cl-play", ...OWN_KEYS, onclick: press });
  const words = html("span", { class: "cl-steps" });
  page.onEnd(() => clearInterval(timer));
  page.onUpdate((state) => {
    button.textContent = timer ? "❚❚" : "▶";
    button.setAttribute("aria-label", timer ? "pause" : "play");
    button.disabled = count(state) < 2;
    words.textContent = say(state);
  });
  return html("div", { class: "cl-player" }, button, slider(page, { name, label, count, say }), words);
}
