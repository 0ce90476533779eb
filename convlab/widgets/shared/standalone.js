// The end of an exported page: a stand-in for the kernel's model, so that the figure moves with no kernel at all.
const heard = {};
const model = {
  alone: true,
  get: (key) => state[key],
  set(key, value) {
    state[key] = value;
    for (const listener of heard[`change:${key}`] ?? []) listener();
  },
  on: (event, listener) => (heard[event] ??= []).push(listener),
  off(event, listener) {
    heard[event] = (heard[event] ?? []).filter((one) => one !== listener);
  },
  save_changes() {},
};
const place = document.getElementById(name);
const picture = [...place.childNodes];
try {
  const { default: widget } = await import(code);
  widget.render({ model, el: place });
} catch (error) {
  const words = document.createElement("p");
  words.textContent = `The moving figure did not start: ${error.message}`;
  place.replaceChildren(...picture, words);
}
