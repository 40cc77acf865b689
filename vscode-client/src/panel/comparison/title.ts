/** Describes a pair of runs in words. */

/** Runs are named by their ids, which end in their names. */
export function describePair(before: string, after: string): string {
  if (!before && !after) return "the two latest runs";
  return after ? `${name(before) || "nothing"} → ${name(after)}` : name(before);
}

function name(run: string): string {
  return run.replace(/\b\d{8}-\d{6}-/g, "");
}
