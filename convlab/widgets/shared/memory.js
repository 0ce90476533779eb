// What a reader did, kept in the browser where no Python keeps it.

/** With Python what is done is kept there. A page that is alone keeps it in its browser, where it may. */
export function memoryOf(model, key) {
  const attempt = (action) => {
    try {
      return model.alone ? action() : null;
    } catch {
      return null; // a browser that keeps nothing
    }
  };
  return {
    keep: (value) => attempt(() => localStorage.setItem(key, JSON.stringify(value))),
    kept: () => attempt(() => JSON.parse(localStorage.getItem(key))),
  };
}
