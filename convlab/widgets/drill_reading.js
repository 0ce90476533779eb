// A number as people type it: convlab/interview/reading.py once more, by its patterns.

import { RULES } from "python";
import { NotUnderstood, factorOf, fullmatch } from "./drill_units.js";

/** A text with each of its letters replaced that stands in a table. */
const translated = (text, table) => [...text].map((one) => (Object.hasOwn(table, one) ? table[one] : one)).join("");

const begins = (pattern, text) => new RegExp(`^(?:${pattern})`, "i").test(text);

/** An answer in a unit, and how finely it was written: { value, half }; what is none throws `NotUnderstood`. */
export function read(typed, unit) {
  const rules = RULES.reading;
  let text = translated(typed, rules.ALIKE).trim();
  if (!text) throw new NotUnderstood("nothing");
  const letters = [...text].length;
  if (letters > rules.LONGEST) throw new NotUnderstood("long", { letters });
  if (Object.keys(unit.choices).length) {
    const word = text.toLowerCase().replace(new RegExp(rules.BOUND), "");
    if (!Object.hasOwn(unit.choices, word)) throw new NotUnderstood("no choice", { text: quoted(text), words: unit.name });
    return { value: unit.choices[word], half: 0 };
  }
  text = text.replace(new RegExp(rules.ABOUT, "i"), "");
  text = text.replace(new RegExp(rules.POWERS, "g"), (raised) => `^${translated(raised, rules.RAISED)}`);
  if (begins(rules.ENDLESS, text)) throw new NotUnderstood("not finite", { text: quoted(text) });
  if (begins(rules.NEGATIVE, text)) throw new NotUnderstood("negative");
  const found = fullmatch(rules.NUMBER, text.replace(/^\+/, ""))?.groups;
  if (!found) throw new NotUnderstood("no number", { text: quoted(text) });
  const word = found.word.trim().replace(/\.+$/, "").trimEnd();
  const { value, half } = numberOf(found, unit.nouns.includes(word.toLowerCase()));
  const factor = factorOf(word, value, unit);
  if (value * factor > rules.LARGEST) throw new NotUnderstood("too large");
  return { value: value * factor, half: half * factor };
}

/** The number, without the word behind it; where things are counted, digits in threes are whole. */
function numberOf(found, whole) {
  const alone = !(found.e || found.ten || found.power || found.below);
  const number = plain(found.plain, whole && alone);
  if (found.below) {
    const below = Number(plain(found.below));
    if (!below) throw new NotUnderstood("over zero");
    return { value: Number(number) / below, half: 0 };
  }
  const exponent = found.power ?? found.e ?? found.ten ?? "0";
  if (exponent.length > 4) throw new NotUnderstood("too large");
  if (found.power) {
    return { value: Array(Number(exponent)).fill(Number(number)).reduce((product, factor) => product * factor, 1), half: 0 };
  }
  return { value: Number(`${number}e${exponent}`), half: 0.5 * Number(`1e${lastPlace(number) + Number(exponent)}`) };
}

/** The power of ten of the last digit: -2 of 1.25, 2 of 1200, whose zeros may be rounding. */
function lastPlace(number) {
  const [whole, part] = number.split(".");
  return part ? -part.length : whole.length - whole.replace(/0+$/, "").length;
}

/** Digits with marks between them, as a computer writes them: 1,200,000 and 1 200 000, 1.25 and 3,5. */
function plain(written, isWhole = false) {
  const rules = RULES.reading;
  const text = written.replace(/[.,]+$/, "").replace(/[ _']/g, "");
  if (fullmatch(rules.ONE_NUMBER, text)) return text;
  for (const [point, threes] of Object.entries(rules.THOUSANDS)) {
    const between = point === "." ? "," : ".";
    const several = text.split(between).length > 2 || text.includes(point);
    if (several && fullmatch(threes, text)) return text.replaceAll(between, "").replace(point, ".");
  }
  if (fullmatch(rules.TWO_WAYS, text)) {
    const [whole, part] = text.split(",");
    if (isWhole) return whole + part;
    throw new NotUnderstood("two numbers", { text, whole, part });
  }
  if (fullmatch(rules.COMMA, text)) return text.replace(",", ".");
  throw new NotUnderstood("marks", { text: quoted(text) });
}

/** What was typed, short enough to be shown; "`" would end the quotation. */
function quoted(typed) {
  const text = [...typed.replaceAll("`", "'").trim().replace(/ +/g, " ")];
  return `\`${text.length <= 40 ? text.join("") : `${text.slice(0, 40).join("")}…`}\``;
}
