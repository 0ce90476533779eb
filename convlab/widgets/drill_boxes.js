// Which kind of drill comes next: convlab/interview/history.py once more, which says how kinds are learned.

import { RULES } from "python";

/** Since when a box's time has come, in seconds; below 0 if it is still to come. */
function due(box, now) {
  const ago = now - box.time;
  return ago >= 0 ? ago - RULES.history.WAITS[box.level - 1] * RULES.history.DAY : 0;
}

/** The answers to drills by their numbers; what another version wrote otherwise is passed over. */
export const answersOf = (events) => events
  .filter((event) => {
    const { drill, right, number } = event?.detail ?? {};
    return event?.kind === "guess" && RULES.known.includes(drill) && typeof right === "boolean" && Number.isFinite(number)
      && Number.isFinite(event.time);
  })
  .sort((one, other) => one.detail.number - other.detail.number);

/** Of each drill the first answer, which is the one that counts. */
export function firstOf(events) {
  const first = new Map();
  for (const event of answersOf(events)) if (!first.has(event.name)) first.set(event.name, event);
  return [...first.values()];
}

/** Where each kind stands that was asked. */
function boxesOf(events) {
  const found = new Map();
  for (const { time, detail: { drill: kind, right, number } } of firstOf(events)) {
    const before = found.get(kind) ?? { kind, level: 1, missed: false, time, number: 0, times: 0 };
    const early = right && due(before, time) < 0; // too early to tell: the days go on
    const level = right ? Math.min(before.level + 1, RULES.history.WAITS.length) : 1;
    const counted = { number: Math.trunc(number), times: before.times + 1 };
    found.set(kind, early ? { ...before, ...counted } : { kind, level, missed: !right, time, ...counted });
  }
  return found;
}

/** The first of those that a key is the least of. */
const leastBy = (list, key) => list.reduce((best, one) => (key(one) < key(best) ? one : best));

/** The kind that comes next, of some: what was missed, what is due, what is new, what is due soonest. */
export function nextKind(events, kinds, now) {
  const known = boxesOf(events);
  const last = Math.max(0, ...[...known.values()].map((box) => box.number));
  const asked = kinds.filter((kind) => known.has(kind)).map((kind) => known.get(kind));
  const missed = asked.filter((box) => box.missed && last - box.number >= RULES.history.OTHERS);
  const cameAgain = asked.some((box) => box.number === last && box.times > 1);
  const ready = asked.filter((box) => !box.missed && due(box, now) >= 0);
  const fresh = kinds.find((kind) => !known.has(kind));
  if (missed.length && !(cameAgain && (ready.length || fresh))) return leastBy(missed, (box) => box.number).kind;
  if (ready.length) return leastBy(ready, (box) => -due(box, now)).kind;
  if (fresh) return fresh;
  const others = asked.filter((box) => box.number < last);
  const rest = others.length ? others : asked;
  const again = rest.filter((box) => box.missed);
  return leastBy(again.length ? again : rest, (box) => -due(box, now)).kind;
}
