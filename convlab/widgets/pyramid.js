// The rows that two machines need of every array, and what that costs: convlab/distributed/span.py and
// convlab/widgets/pyramid_data.py once more. A test holds them together. A span of rows is [start, stop].

import { samePadding } from "./shared/formulas.js";

const BYTES = 4; // of a float32
const size = ([start, stop]) => stop - start;
const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);

/** How the windows of each layer lie along the rows: { size, out, stride, taps, dilation, corner }, as `Windows`. */
export function windowsOf({ H, layers, taps, stride, dilation }) {
  let rows = H;
  return Array.from({ length: layers }, (_, layer) => {
    const step = layer ? 1 : stride;
    const one = { size: rows, out: Math.ceil(rows / step), stride: step, taps, dilation, corner: samePadding(rows, taps, step, dilation)[0] };
    rows = one.out;
    return one;
  });
}

/** The rows of its input that some rows of a layer's output read, as `Windows.read`: no padding among them. */
export function rowsRead({ size: rows, stride, taps, dilation, corner }, [start, stop]) {
  const first = start * stride - corner;
  const last = first + (stop - start - 1) * stride; // where the last window begins
  const reach = (taps - 1) * dilation;
  if (first >= 0 && last + reach < rows) return [first, last + reach + 1];
  // At the edge a tap may lie on padding, and the next one, a dilation further on, inside.
  const found = [];
  for (let tap = 0; tap < taps; tap++) {
    let [begin, end] = [first + tap * dilation, last + tap * dilation];
    begin += Math.max(0, Math.ceil(-begin / stride)) * stride;
    end -= Math.max(0, Math.ceil((end + 1 - rows) / stride)) * stride;
    if (begin <= end) found.push([begin, end + 1]);
  }
  return [Math.min(...found.map(([begin]) => begin)), Math.max(...found.map(([, end]) => end))];
}

/** Who has which rows of every array, from the picture to the result: { size, cut, made, sent }, as `pyramid`. */
export function pyramid(windows, cut, every) {
  const lines = [...windows, null].map((one, at) => ({ size: one?.size ?? windows[at - 1].out }));
  for (let at = windows.length; at >= 0; at--) {
    cut = Math.min(cut, lines[at].size);
    Object.assign(lines[at], { cut, own: [[0, cut], [cut, lines[at].size]], made: [[0, cut], [cut, lines[at].size]], sent: [0, 0] });
    cut *= windows[at - 1]?.stride ?? 1;
  }
  for (let first = 0; first < windows.length; first += every) {
    const last = Math.min(first + every, windows.length);
    let needed = lines[last].own;
    for (let at = last - 1; at >= first; at--) {
      needed = needed.map((rows) => rowsRead(windows[at], rows));
      if (at > first) lines[at].made = needed;
    }
    const begins = lines[first];
    begins.sent = [Math.max(needed[0][1] - begins.cut, 0), Math.max(begins.cut - needed[1][0], 0)];
  }
  return lines;
}

/** How many rows of an array both machines compute. */
export const twiceOf = ({ made: [one, other] }) => Math.max(one[1] - other[0], 0);

/** Bytes of a row of every array, FLOPs of a row of every layer. */
export function rowsOf(windows, { W, C, taps, stride }) {
  const [wide, narrow, channels] = [Number(W), Math.ceil(Number(W) / stride), Number(C)];
  return {
    bytes: [wide, ...windows.map(() => narrow)].map((columns) => columns * channels * BYTES),
    work: windows.map(() => 2 * narrow * channels * channels * taps * taps),
  };
}

/** What that takes, as `cost`: the slower machine counts; both ways are free at once, and nothing else goes on. */
export function costOf({ bytes, work }, lines, every, { flops, latency, bandwidth }) {
  let [own, done] = [0, 0];
  for (let first = 0; first < work.length; first += every) {
    const here = work.slice(first, first + every).map((each, i) => [each, lines[first + i + 1]]);
    const slower = (name) => Math.max(...[0, 1].map((side) => sum(here.map(([each, line]) => each * size(line[name][side])))));
    own += slower("own");
    done += slower("made");
  }
  const messages = lines.filter(({ sent }) => sent[0] || sent[1]).length;
  const layers = lines.slice(1);
  const parts = {
    own: own / flops, repeated: (done - own) / flops, waiting: messages * latency,
    sending: sum(lines.map(({ sent }, at) => bytes[at] * Math.max(...sent))) / bandwidth,
  };
  return {
    ...parts, messages, seconds: parts.own + parts.repeated + parts.waiting + parts.sending,
    bytes: sum(lines.map(({ sent }, at) => bytes[at] * (sent[0] + sent[1]))),
    share: sum(layers.map((line, at) => work[at] * twiceOf(line))) / sum(layers.map((line, at) => work[at] * line.size)),
  };
}

/** All of it for a state: the way that is shown, the costs of all, and the cheapest: 0 where the cut costs nothing. */
export function sizesUp(state) {
  const numbers = Object.fromEntries(["taps", "stride", "dilation", "flops", "latency", "bandwidth"].map((name) => [name, Number(state[name])]));
  const shape = { H: state.H, W: state.W, C: state.C, layers: state.layers, ...numbers };
  const windows = windowsOf(shape);
  const rows = windows.at(-1).out;
  const [cut, every] = [Math.min(state.cut, rows - 1), Math.min(state.every, state.layers)];
  const each = rowsOf(windows, shape);
  const all = windows.map((_, i) => pyramid(windows, cut, i + 1));
  const ways = all.map((lines, i) => costOf(each, lines, i + 1, numbers));
  const times = ways.map(({ seconds }) => seconds);
  return {
    numbers, windows, rows, cut, every, ways, bytes: each.bytes, lines: all[every - 1], cost: ways[every - 1],
    best: ways[0].messages && times.indexOf(Math.min(...times)) + 1, border: all.at(-1)[0].sent,
  };
}
