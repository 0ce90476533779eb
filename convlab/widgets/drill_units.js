// The words behind a number: convlab/interview/words.py and units.py once more, by the tables of those.

import { RULES } from "python";
import { bytesText, countText, numberText, timeText } from "./shared/numbers.js";
import { say } from "./shared/sentences.js";

/** An answer that is not taken for one; the message is one of the sentences. */
export class NotUnderstood extends Error {
  constructor(name, values) {
    super(say(name, values));
  }
}

/** The match of a pattern of Python's with a text, from its beginning to its end. */
export const fullmatch = (pattern, text) => new RegExp(`^(?:${pattern.replaceAll("(?P<", "(?<")})$`, "s").exec(text);

const tableOf = (name) => RULES.words[name];
const own = (table, key) => (Object.hasOwn(table, key) ? table[key] : null);

/** The factor of a prefix before one of some nouns: "GFLOP", "giga operations". */
function afterPrefix(word, nouns, prefixes) {
  for (const noun of nouns) {
    const prefix = word.endsWith(noun) && word.slice(0, word.length - noun.length).replace(/^[ -]+|[ -]+$/g, "");
    if (prefix !== false && Object.hasOwn(prefixes, prefix)) return prefixes[prefix];
  }
  return null;
}

function flop(word) {
  const low = word.toLowerCase();
  const twice = afterPrefix(low, tableOf("MULTIPLY_ADD"), tableOf("LARGE"));
  return twice === null ? afterPrefix(low, [...tableOf("OPERATION"), ""], tableOf("LARGE")) : 2 * twice;
}

function byte(word) {
  if (fullmatch(tableOf("BITS_OR_BYTES"), word)) throw new NotUnderstood("bits or bytes", { word, letter: word.slice(0, -1) });
  const [low, prefixes] = [word.toLowerCase(), { ...tableOf("LARGE"), ...tableOf("BINARY") }];
  if (fullmatch(tableOf("SHORT_BYTES"), low)) return own(prefixes, low.replace(/b$/, ""));
  const bits = afterPrefix(low, tableOf("BIT"), prefixes);
  return bits === null ? afterPrefix(low, tableOf("BYTE"), prefixes) : bits / 8;
}

function second(word) {
  if (!word) return 1;
  return tableOf("MINUTE").includes(word) ? 60 : afterPrefix(word, tableOf("SECOND"), tableOf("SMALL"));
}

function intensity(word) {
  const [work, ...rest] = word.replace(new RegExp(tableOf("PER"), "g"), "/").split("/");
  if (word && !["b", ...tableOf("BYTE")].includes(rest.join("/").trim().toLowerCase())) return null;
  return flop(work.trim());
}

const thing = (word, number, unit) => afterPrefix(word.toLowerCase(), unit.nouns, tableOf("LARGE"));

function ratio(word) {
  if (tableOf("PERCENT").includes(word)) return 0.01;
  return tableOf("TIMES").includes(word.toLowerCase()) ? 1 : null;
}

function percent(word, number) {
  if (tableOf("PERCENT").includes(word)) return 1;
  if (word) return null;
  if (number === 1) throw new NotUnderstood("percent or all");
  return number < 1 ? 100 : 1;
}

const FACTORS = { flop, byte, second, intensity, thing, ratio, percent };
const factorIn = (unit, word, number) => FACTORS[unit.factor](word, number, unit);

/** What a number before a word is multiplied by, to be in a unit. */
export function factorOf(word, number, unit) {
  const factor = factorIn(unit, word, number);
  if (factor !== null) return factor;
  if (word === "B" || word === "b") throw new NotUnderstood("billion or bytes");
  const [low, asked] = [word.toLowerCase(), unit.measures];
  if (tableOf("SPEED").some((end) => low.endsWith(end))) throw new NotUnderstood("speed", { word, asked });
  for (const other of Object.hasOwn(tableOf("LARGE"), low) ? [] : RULES.units) {
    if (other.name !== unit.name && factorIn(other, word, 2) !== null) {
      throw new NotUnderstood("another unit", { word, other: other.measures, asked });
    }
  }
  throw new NotUnderstood("no unit", { word, asked });
}

const WRITTEN = {
  bytes: bytesText,
  count: countText,
  time: timeText,
  "3 digits": (value) => numberText(value, 3),
  "9 digits": (value) => numberText(value, 9),
};

/** A value as it is shown. */
export function unitText(unit, value) {
  const word = Object.entries(unit.choices).find(([, number]) => number === value);
  if (word) return word[0];
  const number = WRITTEN[unit.written](value);
  const after = unit.after_one && value === 1 ? unit.after_one : unit.after;
  return number + (/[a-zµ]$/i.test(number) ? after.trimStart() : after);
}
