// Sentences that the page and the words for those who cannot see it have in common: each stands once, in the
// widget's Python, with {names} for what changes.

import { SENTENCES } from "python";

/** A sentence with its numbers: say("fits", { rows: 7 }). */
export const say = (name, values = {}) => SENTENCES[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
