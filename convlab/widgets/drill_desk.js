// Where the card takes its drills from, and where its answers go: to Python, or, on a page that has none, to the browser.

import { RULES } from "python";
import { firstOf, nextKind, answersOf } from "./drill_boxes.js";
import { browserMemory } from "./shared/memory.js";
import { patienceOf } from "./shared/until_heard.js";

const KEPT = "convlab drills 1"; // the number is that of what is kept: another version has a key of its own

/** The drills that Python sealed. */
function unsealed(text) {
  if (!text) return [];
  const { texts, drills } = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(text), (one) => one.charCodeAt(0))));
  const named = (slips) => slips.map(([name, value, hint]) => [texts[name], value, texts[hint]]);
  return drills.map((one) => ({
    ...one,
    request: texts[one.request],
    slips: named(one.slips),
    small_slips: named(one.small_slips),
  }));
}

const same = (one, other) => one.kind === other.kind && one.seed === other.seed;

/** How many were right, and of how many, by how sure. */
function tallyOf(answers) {
  const found = {};
  for (const { sure, right } of answers) {
    const both = (found[sure ?? ""] ??= [0, 0]);
    both[0] += right;
    both[1] += 1;
  }
  return found;
}

/**
 * A desk: `next()` is the drill that comes next, or null; `take` hands in { kind, seed, text, sure, seconds } with what
 * was judged; `gone`, whether a drill is no longer asked; `tally`, and whether Python is `waiting` to be heard of.
 */
export const deskOf = (page, model) => (model.alone ? browserDesk(page, model) : pythonDesk(page));

/** Python draws the drills, judges once more, and remembers. What it has not heard of yet is kept in the browser. */
function pythonDesk(page) {
  const room = browserMemory("convlab drills, not handed in");
  const isTyped = (one) => RULES.known.includes(one?.kind) && Number.isInteger(one.seed) && "text" in one && "sure" in one && "seconds" in one;
  const list = (kept) => (Array.isArray(kept) ? kept.filter(isTyped) : []);
  const heard = (one) => page.state().answered.some((other) => same(one, other));
  const { bank, fixed: once } = page.state();
  const drills = unsealed(bank);
  const mine = [];
  const patience = patienceOf(page);

  /** Hand in what Python has not heard of, and keep it until it has. */
  function handIn(more) {
    const waiting = [...page.state().typed, ...more].filter((one) => !heard(one));
    room.keep([...list(room.kept()).filter((one) => !waiting.some((other) => same(one, other))), ...waiting]);
    page.set({ typed: waiting });
    patience.ask();
  }
  const left = list(room.kept()).filter((one) => !heard(one) && (!once || drills.some((drill) => same(drill, one))));
  if (left.length) handIn(left);

  const answered = (one) => heard(one) || page.state().typed.some((other) => same(one, other));
  const next = () => (once ? drills : unsealed(page.state().card)).find((one) => !answered(one)) ?? null;
  return {
    next,
    gone: (drill) => !same(next() ?? {}, drill), // answered in another tab, or Python has laid out another one since
    take(typed) {
      mine.push(typed);
      handIn([typed]);
    },
    tally: () => (once ? tallyOf(page.state().answered) : page.state().tally),
    waiting() {
      const kept = list(room.kept());
      if (kept.some(heard)) room.keep(kept.filter((one) => !heard(one)));
      return patience.over() && mine.some((one) => !heard(one));
    },
  };
}

/** The bank of the page, and the browser's memory, which other tabs have, too: it is read before each answer is added. */
function browserDesk(page, model) {
  const [memory, aside] = [browserMemory(KEPT), browserMemory(`${KEPT}, set aside`)];
  const drills = unsealed(model.get("bank"));
  const once = model.get("fixed");
  const kinds = [...new Set(drills.map((one) => one.kind))];
  const [mine, before] = [[], model.get("answered")];
  window.addEventListener("storage", page.refresh);
  page.onEnd(() => window.removeEventListener("storage", page.refresh));

  function events() {
    const kept = memory.kept() ?? [];
    if (!Array.isArray(kept)) aside.keep(kept); // not ours: nothing is lost
    const there = Array.isArray(kept) ? kept : [];
    const known = new Set(there.map((one) => one?.name));
    return [...there, ...mine.filter((one) => !known.has(one.name))];
  }

  const now = () => Date.now() / 1000; // as Python has it
  const ofDrill = (list, drill) => list.filter(({ detail }) => detail.drill === drill.kind && detail.seed === drill.seed);
  const here = () => [...before, ...mine.map(({ detail }) => ({ ...detail, kind: detail.drill }))];

  function next() {
    if (once) return drills.find((drill) => !here().some((one) => same(drill, one))) ?? null;
    const known = answersOf(events());
    const ofKind = drills.filter((one) => one.kind === nextKind(known, kinds, now()));
    const times = ofKind.map((drill) => ofDrill(known, drill).length);
    const fewest = Math.min(...times);
    const drill = ofKind[times.indexOf(fewest)];
    return { ...drill, name: `drill ${drill.kind} ${drill.seed} ${fewest}` }; // asked once more it counts once more
  }

  function take({ kind, seed, sure, seconds }, { value, slip, right }, name = `drill ${kind} ${seed} ${now()}`) {
    const all = events();
    const number = 1 + Math.max(0, ...answersOf(all).map(({ detail }) => detail.number));
    const detail = { guess: value, sure, right, drill: kind, seed, slip, seconds, number };
    const event = { time: now(), kind: "guess", name, detail };
    mine.push(event);
    memory.keep([...all, event]);
  }

  return {
    next,
    take,
    gone: (drill) => Boolean(drill.name) && events().some((one) => one?.name === drill.name),
    tally: () => tallyOf(once ? here() : firstOf(events()).map(({ detail }) => detail)),
    waiting: () => false,
  };
}
