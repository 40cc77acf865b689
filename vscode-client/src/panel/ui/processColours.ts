/** Assigns the eight process colours of the style sheet. Colour is never the only sign: the name of the process is next to it. */

export const COLOURS = 8;

/** By order of first appearance, so that neighbours in time differ. */
export function processColours(processes: readonly string[]): ReadonlyMap<string, number> {
  return new Map(processes.map((process, index) => [process, index % COLOURS]));
}
