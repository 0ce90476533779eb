// Which algorithms refuse a layer: `refusals()` of convlab/widgets/roofline_data.py, looked up.

/** Why an algorithm refuses a problem; undefined if it serves it. */
export function refusal(refusals, algorithm, { R, S, stride, padding, groups, C }) {
  const reasons = refusals[JSON.stringify([R, S, stride, padding, groups === C, groups === 1])] ?? {};
  return reasons[algorithm.name]?.replace("{C}", C / groups);
}
