// Whether an answer to a drill is right: convlab/interview/judge.py once more.

import { RULES } from "python";
import { read } from "./drill_reading.js";
import { NotUnderstood, unitText } from "./drill_units.js";
import { say } from "./shared/sentences.js";

/** Whether a value is an answer, as far as a tolerance tells them apart. */
const near = (value, answer, tolerance) => Math.abs(value - answer) <= (tolerance + RULES.judge.SLACK) * Math.abs(answer);

/** What was read in an answer, and what is said of it: { value, slip, good, title, words }. */
export function judged(drill, text) {
  const { unit } = RULES.kinds[drill.kind];
  let value;
  try {
    value = read(text, unit);
  } catch (error) {
    if (!(error instanceof NotUnderstood)) throw error;
    return { value: null, slip: "", good: null, title: say("not judged"), words: `${error.message} ${drill.request}` };
  }
  const said = unitText(unit, value);
  if (near(value, drill.value, drill.tolerance)) {
    const how = say(value === drill.value ? "exactly" : "near enough");
    return { value, slip: "", good: true, title: say("right"), words: say("it is", { said, answer: answerOf(drill), how }) };
  }
  const band = Math.min(drill.tolerance, RULES.judge.ALIKE);
  const [slip, , hint] = drill.slips.find(([, wrong]) => near(value, wrong, band)) ?? [""];
  const words = slip ? say("slip", { said, slip, hint }) : say("too far", { said, too: say(value > drill.value ? "much" : "little") });
  return { value, slip, good: false, title: say("wrong"), words };
}

/** The answer of a drill, as it is shown. */
export const answerOf = (drill) => unitText(RULES.kinds[drill.kind].unit, drill.value);
