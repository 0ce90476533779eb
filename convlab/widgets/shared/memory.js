// What a browser keeps from one visit to the next.

/** What this browser keeps by a name, where it keeps anything. */
export function browserMemory(key) {
  const attempt = (action) => {
    try {
      return action();
    } catch {
      return null; // a browser that keeps nothing
    }
  };
  return {
    keep: (value) => attempt(() => localStorage.setItem(key, JSON.stringify(value))),
    kept: () => attempt(() => JSON.parse(localStorage.getItem(key))),
  };
}
