// Whether an answer to a drill is right: convlab/interview/judge.py once more.

import { RULES } from "python";
import { read } from "./drill_reading.js";
import { NotUnderstood, unitText } from "./drill_units.js";
import { say } from "./shared/sentences.js";

/** Whether a value is an answer, as far as a tolerance tells them apart. */
const near = (value, answer, tolerance) => Math.abs(value - answer) <= (tolerance + RULES.judge.SLACK) * Math.abs(answer);

/** Whether a number is a slip's value to its last digit, and clearly not the answer's. */
function comesOf({ value, half }, slip, answer) {
  const { FINE, CLEAR, SLACK } = RULES.judge;
  const fits = Math.abs(value - slip) <= half + SLACK * Math.abs(slip);
  const whole = near(value, slip, 0);
  return half <= FINE * value && fits && Math.abs(value - answer) > (whole ? 1 : CLEAR) * half;
}

/** What was read in an answer, and what is said of it: { value, slip, good, title, words }. */
export function judged(drill, text) {
  const { unit } = RULES.kinds[drill.kind];
  let typed;
  try {
    typed = read(text, unit);
  } catch (error) {
    if (!(error instanceof NotUnderstood)) throw error;
    return { value: null, slip: "", good: null, title: say("not judged"), words: `${error.message} ${drill.request}` };
  }
  const { value } = typed;
  const said = unitText(unit, value);
  const small = drill.small_slips.find(([, wrong]) => comesOf(typed, wrong, drill.value));
  if (near(value, drill.value, drill.tolerance)) {
    const how = say(value === drill.value ? "exactly" : "near enough");
    const [slip, , hint] = small ?? [""];
    const words = say("it is", { said, answer: answerOf(drill), how }) + (slip && ` ${say("small slip", { slip, hint })}`);
    return { value, slip, good: true, title: say("right"), words };
  }
  const band = Math.min(drill.tolerance, RULES.judge.ALIKE);
  const [slip, , hint] = small ?? drill.slips.find(([, wrong]) => near(value, wrong, band)) ?? [""];
  const words = slip ? say("slip", { said, slip, hint }) : say("too far", { said, too: say(value > drill.value ? "much" : "little") });
  return { value, slip, good: false, title: say("wrong"), words };
}

/** The answer of a drill, as it is shown. */
export const answerOf = (drill) => unitText(RULES.kinds[drill.kind].unit, drill.value);
