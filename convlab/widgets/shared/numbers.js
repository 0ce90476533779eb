// Numbers as people read them: convlab/support/units.py once more, to the last digit.

/** Python's f"{value:.{decimals}f}": like toFixed, but a value exactly half way goes to the even digit. */
export function fixed(value, decimals) {
  if (Math.abs(value) >= 1e21) return String(BigInt(value)) + (decimals ? `.${"0".repeat(decimals)}` : "");
  const halves = value * 2 ** (decimals + 1); // exact; odd only where the value lies exactly half way
  if (Math.abs(halves) % 2 !== 1) return value.toFixed(decimals);
  const below = Math.floor(value * 10 ** decimals);
  return ((below % 2 ? below + 1 : below) / 10 ** decimals).toFixed(decimals);
}

const three = (value) => fixed(value, Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0);

/** A value in the first unit that writes it as less than `step`, else in the last; `smallest` writes the first unit. */
function inUnits(value, step, units, smallest) {
  let text = smallest(value);
  for (const unit of units.slice(0, -1)) {
    if (Math.abs(Number(text)) < step) return `${text} ${unit}`.trimEnd();
    value /= step;
    text = three(value);
  }
  return `${text} ${units.at(-1)}`;
}

/** Python's f"{value:g}" of what is very small or large: "2.18e-05". */
function exponential(value) {
  const [mantissa, power] = value.toExponential().split("e");
  return `${mantissa}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

/** Python's f"{value:g}" of a count that has no prefix. */
function general(value) {
  const decimals = 5 - Number(value.toExponential(5).split("e")[1]);
  const rounded = Number(decimals > 0 && decimals < 100 ? fixed(value, decimals) : value.toPrecision(6));
  return rounded && Math.abs(rounded) < 1e-4 ? exponential(rounded) : `${rounded}`;
}

/** Bytes in binary units with three significant digits: "6.89 MiB". */
export const bytesText = (count) =>
  inUnits(count, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"], (value) => fixed(value, 0));

/** A count in decimal units with three significant digits: "1.81 G". */
export const countText = (count) =>
  inUnits(count, 1000, ["", "k", "M", "G", "T"], general);

/** A duration with three significant digits: "1.23 ms". */
export const timeText = (seconds) => inUnits(seconds * 1e9, 1000, ["ns", "µs", "ms", "s"], three);

/** A ratio: "12.2×", "0.06×", "278×". */
export function ratioText(value) {
  if (value > 0 && value < 0.005) return "< 0.01×";
  return `${fixed(value, value >= 99.95 ? 0 : value >= 0.995 ? 1 : 2)}×`;
}

/** A whole number with its digits in threes: "7,375,872". */
export const digits = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");

/** "1 pixel", "2 pixels". */
export const plural = (count, one, many = `${one}s`) => `${digits(count)} ${count === 1 ? one : many}`;

/** A number of any size with its significant digits, those before the point in threes: "12,350". */
export function numberText(value, digits = 4) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const rounded = Number(value.toPrecision(digits));
  const size = Math.abs(rounded);
  if (size && (size < 1e-4 || size >= 1e15)) {
    return exponential(rounded).replaceAll("-", "−");
  }
  return rounded.toLocaleString("en-US", { maximumFractionDigits: 20 }).replace("-", "−");
}

/** A duration as a stopwatch shows it: "7:05". */
export const clockText = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
