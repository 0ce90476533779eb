// What one step k costs a register tile: convlab/cpu/tile_model.py once more. A test holds the two together.

/** The counts of a tile { rows, vectors, registers, units, latency, loads }, all numbers. */
export function tileBounds({ rows, vectors, registers, units, latency, loads }) {
  const multiplyAdds = rows * vectors;
  const used = multiplyAdds + vectors + 1;
  const spilled = Math.max(0, used - registers);
  const fetched = rows + vectors;
  const cycles = { units: multiplyAdds / units, latency, loads: fetched / loads };
  const most = Math.max(...Object.values(cycles));
  const limit = spilled ? "registers" : Object.keys(cycles).find((name) => cycles[name] === most);
  return { multiplyAdds, used, spilled, fetched, cycles, limit, share: cycles.units / most };
}

/** The sums of a tile after the products 0..step. */
export const sumsOf = (a, b, rows, cols, step) =>
  Array.from({ length: rows }, (_, i) => Array.from({ length: cols }, (_, j) => {
    let total = 0;
    for (let k = 0; k <= step; k++) total += a[i][k] * b[k][j];
    return total;
  }));
