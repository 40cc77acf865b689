/** The two runs of a comparison, where not both are named. */
import type { RunRef } from "../../shared/protocol";

export interface Pair {
  before: string;
  after: string;
}

/** Where a run is not named: before is the baseline, else the older of the two newest, in the order in which they were recorded. */
export function completePair(runs: readonly RunRef[], baseline: string, asked: Pair): Pair {
  const byAge = [...runs].sort((a, b) => a.started - b.started);
  const set = asked.before || baseline;
  const after = asked.after || (byAge.filter((run) => run.id !== set).at(-1)?.id ?? "");
  const before =
    asked.before ||
    (baseline && baseline !== after ? baseline : (byAge.filter((run) => run.id !== after).at(-1)?.id ?? ""));
  return { before, after };
}
