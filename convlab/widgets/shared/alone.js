// A stand-in for the kernel's model, so that a figure moves with no kernel at all.

export function standIn(state) {
  const heard = {};
  return {
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
}
