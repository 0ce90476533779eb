// Numbers as people read them: convlab/units.py once more, to the last digit.

/** Python's f"{value:.{decimals}f}": like toFixed, but a value exactly half way goes to the even digit. */
export function fixed(value, decimals) {
  const halves = value * 2 ** (decimals + 1); // exact; odd only where the value lies exactly half way
  if (Math.abs(halves) % 2 !== 1) return value.toFixed(decimals);
  const below = Math.floor(value * 10 ** decimals);
  return ((below % 2 ? below + 1 : below) / 10 ** decimals).toFixed(decimals);
}

const three = (value) => fixed(value, Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0);

/** Bytes in binary units with three significant digits: "6.89 MiB". */
export function bytesText(count) {
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (Math.abs(count) < 1024) return unit === "B" ? `${fixed(count, 0)} B` : `${three(count)} ${unit}`;
    count /= 1024;
  }
  return `${three(count)} TiB`;
}

/** A count in decimal units with three significant digits: "1.81 G". */
export function countText(count) {
  for (const unit of ["", "k", "M", "G"]) {
    if (Math.abs(count) < 1000) return unit === "" ? `${Number(count.toPrecision(6))}` : `${three(count)} ${unit}`;
    count /= 1000;
  }
  return `${three(count)} T`;
}

/** A ratio: "12.2×", "0.06×", "278×". */
export function ratioText(value) {
  if (value > 0 && value < 0.005) return "< 0.01×";
  return `${fixed(value, value >= 99.95 ? 0 : value >= 0.95 ? 1 : 2)}×`;
}

/** A whole number with its digits in threes: "7,375,872". */
export const digits = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");

/** "1 pixel", "2 pixels". */
export const plural = (count, one, many = `${one}s`) => `${digits(count)} ${count === 1 ? one : many}`;
