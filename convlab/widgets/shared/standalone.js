// The end of an exported page: the figure in its place, with a model that stands in for the kernel's.
const model = standIn(state);
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
