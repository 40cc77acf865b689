/** Formats the significance of a change. */

/** `p < 0.001`, `p = 0.02`. */
export function probability(p: number | null): string {
  if (p === null) return "";
  return p < 0.001 ? "p < 0.001" : `p = ${Number(p.toPrecision(2))}`;
}
