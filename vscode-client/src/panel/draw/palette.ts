/** Which of the style sheet's eight process colours a process has; a colour is never the only sign, its name is beside it. */

export const COLOURS = 8;

/** By order of first appearance, so that neighbours in time differ. */
export function processColours(processes: readonly string[]): ReadonlyMap<string, number> {
  return new Map(processes.map((process, index) => [process, index % COLOURS]));
}
