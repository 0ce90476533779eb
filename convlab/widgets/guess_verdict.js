// What is said of a guess: is it a number, how far is it off, is it a known misconception.

import { LIMITS } from "python";
import { numberText } from "./shared/numbers.js";
import { say } from "./shared/sentences.js";

const NUMBER = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?:\s*\/\s*(\d+\.?\d*|\.\d+))?\s*(?:%|×|x)?$/i;
const ASK = "A number alone, please, such as 3, 0.5, 1/3 or 1e3.";

/** Read what somebody typed: { number }, or { trouble } in words. */
export function readNumber(typed) {
  const plain = typed.trim().replace(/(?<=\d)[\s_'’](?=\d{3}(?!\d))/g, "").replace(/[−–]/g, "-");
  if (plain === "") return { trouble: "Type a number first; a wrong one does no harm." };
  if (/^[+-]?(inf|∞)/i.test(plain)) return { trouble: "It is finite. How large do you think it is?" };
  if (/^[+-]?[1-9]\d{0,2},\d{3}$/.test(plain)) {
    const [thousands, decimals] = [plain.replace(",", ""), plain.replace(",", ".")];
    return { trouble: `Is ${plain} in the thousands, or is its comma a decimal point? Write ${thousands} or ${decimals}.` };
  }
  const found = withPoint(plain).match(NUMBER);
  if (!found) return { trouble: `“${typed.trim().slice(0, 30)}” is no number that can be read here. ${ASK}` };
  const number = Number(found[1]) / Number(found[2] ?? 1);
  return Number.isFinite(number) ? { number } : { trouble: `That is beyond all that computers count with. ${ASK}` };
}

/** A comma may be the decimal sign, or stand between thousands; with a point beside it, what comes last is the sign. */
function withPoint(text) {
  if (/^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(text)) return text.replace(/,/g, "");
  if (/^[+-]?[1-9]\d{0,2}(\.\d{3})+,\d*$/.test(text)) return text.replace(/\./g, "").replace(",", ".");
  return text.includes(".") ? text : text.replace(",", ".");
}

/** How many times the one is the other, of the same sign; infinite where zero lies between. */
export function factorBetween(a, b) {
  if (a === b) return 1;
  if (Math.sign(a) * Math.sign(b) <= 0) return Infinity;
  const [small, large] = [Math.abs(a), Math.abs(b)].sort((one, other) => one - other);
  return large / small;
}

/** Is a guess at most twice too large or too small (null: nobody knows), and what is said of it. */
export function judge(guess, { ends, noisy }, unit) {
  const nearest = Math.min(Math.max(guess, ends[0]), ends.at(-1));
  const [factor, by] = [factorBetween(guess, nearest), numberText(Math.abs(guess - nearest), 3)];
  const how = guess === nearest ? say(ends.length === 1 ? "exact" : "close")
    : Math.sign(guess) * Math.sign(nearest) > 0
      ? say(factor < LIMITS.CLOSE ? "close" : factor <= LIMITS.RIGHT ? "within" : "off", { ratio: numberText(factor, 3) })
      : say(guess && nearest ? "across" : "apart", { by });
  const told = ends.map((end) => numberText(end));
  const actual = told.length === 1 ? told[0] : say("ends", { low: told[0], high: told[1] });
  const values = { guess: numberText(guess), actual, unit };
  if (noisy) return { right: null, words: say("noisy", values) };
  return { right: factor <= LIMITS.RIGHT, words: say("verdict", { ...values, how }) };
}

/** What is said of a guess that is a known wrong one: the nearest that is near enough, and nearer than the truth. */
export function misconception(guess, actual, known) {
  const near = known
    .map(([wrong, said]) => ({ said, away: Math.abs(guess - wrong), limit: LIMITS.ALIKE * Math.abs(wrong) }))
    .filter(({ away, limit }) => away <= limit && away < Math.abs(guess - actual))
    .sort((one, other) => one.away - other.away);
  return near[0]?.said;
}
