// What a request of a warp touches: the lines, sectors and banks that the lane simulator counted, once more.

const [WARP, WORD, LINE, BANKS] = [32, 4, 128, 32]; // lanes; bytes; bytes; banks of shared memory

/** The 4-byte words of an access of `size` bytes. */
const wordsOf = (at, size) => {
  const [first, last] = [Math.floor(at / WORD), Math.floor((at + Math.max(size, WORD) - 1) / WORD)];
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
};

const put = (map, key, make) => map.get(key) ?? map.set(key, make()).get(key);

/** The 128-byte lines of global memory that are touched, in order: [[line, Map of its words to their lanes], ...]. */
export function linesOf({ lanes, size }) {
  const touched = new Map();
  lanes.forEach((at, lane) => {
    for (const word of at === null ? [] : wordsOf(at, size)) {
      const line = put(touched, Math.floor((word * WORD) / LINE), () => new Map());
      put(line, word % (LINE / WORD), () => []).push(lane);
    }
  });
  return [...touched].sort(([a], [b]) => a - b);
}

/** Whether every lane wants the same as its neighbour, or every lane the same as the one two further. */
const inPairs = (lanes) =>
  [1, 2].some((apart) => lanes.every((at, lane) => [null, at].includes(lanes[lane ^ apart]) || at === null));

/**
 * The passes over shared memory: a Map of banks to { word, lanes } each. 8 bytes come by half warps, 16 by quarters;
 * a load whose lanes want the same in pairs by twice as many lanes.
 */
export function passesOf({ lanes, size, kind }) {
  const words = Math.max(size / WORD, 1);
  const together = (WARP / words) * (words > 1 && kind === "ld" && inPairs(lanes) ? 2 : 1);
  const found = [];
  for (let first = 0; first < WARP; first += together) {
    const asked = new Map(); // bank -> word -> lanes
    for (let lane = first; lane < first + together; lane++) {
      for (const word of lanes[lane] === null ? [] : wordsOf(lanes[lane], size)) {
        put(put(asked, word % BANKS, () => new Map()), word, () => []).push(lane);
      }
    }
    const turns = Math.max(0, ...[...asked.values()].map((words) => words.size));
    for (let turn = 0; turn < turns; turn++) {
      const row = [...asked].filter(([, words]) => words.size > turn).map(([bank, words]) => {
        const [word, served] = [...words][turn];
        return [bank, { word, lanes: served }];
      });
      found.push(new Map(row));
    }
  }
  return found;
}
