/** Completes the two runs of a comparison if the question does not name both. */
import type { RunRef } from "../../shared/protocol";

export interface Pair {
  before: string;
  after: string;
}

/** Where a run is not named: before is the baseline, else the older of the two newest, in the order in which they were recorded. A run
 * that is asked for by its name is the newest of that name, and is not compared with itself. */
export function completePair(runs: readonly RunRef[], baseline: string, asked: Pair): Pair {
  const byAge = [...runs].sort((a, b) => a.started - b.started);
  const idOf = (named: string): string =>
    byAge.find(({ id }) => id === named)?.id ?? byAge.filter(({ name }) => name === named).at(-1)?.id ?? named;
  const newestBut = (other: string): string => byAge.filter(({ id }) => id !== idOf(other)).at(-1)?.id ?? "";
  const after = asked.after || newestBut(asked.before || baseline);
  const isOther = baseline !== "" && idOf(baseline) !== idOf(after);
  return { before: asked.before || (isOther ? baseline : newestBut(after)), after };
}
