// The model of convlab/auto/predict.py once more: a phase takes as long as its slower half, and then there is
// what is begun. MODELS and COUNTS are written by Python, from the phases in the algorithms' own files: COUNTS are
// the formulas, and MODELS says by their numbers which are whose.
// Speeds are { flops, memory, overheads }: memory is [room, bytes a second] a level, and the last has room for all (null).

import { COUNTS, MODELS } from "python";

export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** The seconds in which a stream of bytes flows past. */
function moves([size, holds], sizes, { memory }) {
  const held = COUNTS[holds](sizes);
  const [, speed] = memory.find(([room]) => room === null || held <= room);
  return COUNTS[size](sizes) / speed;
}

/** The predicted seconds of a run on one thread, in all and phase by phase. */
export function predict({ phases }, sizes, speeds) {
  const parts = phases.map(({ name, flops, streams, begins }) => {
    const computing = COUNTS[flops](sizes) / speeds.flops;
    const moving = sum(streams.map((stream) => moves(stream, sizes, speeds)));
    const beginning = sum(Object.entries(begins).map(([what, often]) => COUNTS[often](sizes) * speeds.overheads[what]));
    return { name, seconds: Math.max(computing, moving) + beginning, computing, moving, beginning };
  });
  return { seconds: speeds.overheads.call + sum(parts.map(({ seconds }) => seconds)), parts };
}

/** What most of a phase's time goes to. */
export function boundOf({ computing, moving, beginning }) {
  if (beginning > Math.max(computing, moving)) return "beginning";
  return computing >= moving ? "computing" : "moving";
}

/** The same machine, ten times slower in one of the three. */
export function slowed(speeds, what) {
  const { flops, memory, overheads } = speeds;
  if (what === "computing") return { ...speeds, flops: flops / 10 };
  if (what === "moving") return { ...speeds, memory: memory.map(([room, speed]) => [room, speed / 10]) };
  if (what === "beginning") return { ...speeds, overheads: Object.fromEntries(Object.entries(overheads).map(([name, overhead]) => [name, 10 * overhead])) };
  return speeds;
}

/**
 * Every algorithm that serves, with its prediction, the fastest first; `refused` are the others, by name.
 * `chosen` is the one to take: of those that are alike, the one that rounds least, then the one that allocates least.
 */
export function ranking(sizes, speeds, refused, alike) {
  const ranked = MODELS.filter(({ name }) => !refused[name])
    .map((model) => ({ ...model, ...predict(model, sizes, speeds), bytes: COUNTS[model.workspace](sizes) }))
    .sort((a, b) => a.seconds - b.seconds);
  const equals = ranked.filter(({ seconds }) => seconds <= alike * ranked[0].seconds);
  // By the table's order where all else is equal, as in Python.
  const places = MODELS.map(({ name }) => name);
  equals.sort((a, b) => a.rounding - b.rounding || a.bytes - b.bytes || places.indexOf(a.name) - places.indexOf(b.name));
  return { ranked, equals, chosen: equals[0] };
}
