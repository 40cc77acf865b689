/** Moves to the next or previous element of a list, for keys that step through matches, measures and entities. */

/** The one after (1) or before (-1) another, all around; of one that is not among them the first or the last. */
export function neighbourOf<T>(among: readonly T[], one: T | undefined, by: 1 | -1): T | undefined {
  const at = among.findIndex((other) => other === one);
  return among.at(at < 0 ? (by > 0 ? 0 : -1) : (at + by) % among.length);
}
