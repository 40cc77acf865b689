/**
 * The density of occurrences over time, as one shape of bars.
 *
 * Invariant: every occurrence is visible, however short; no bar is higher than 1.
 */

/** A bar at least so high, of 1. */
const LOWEST = 0.18;

/**
 * Per part of a time how much of it is taken, from 0 to 1: `ns` of its length, and at least `LOWEST` where something is or begins.
 * `begun` may be left out.
 */
export function shares(ns: readonly number[], lengthNs: number, begun: readonly number[] = []): number[] {
  const part = Math.max(lengthNs, 1) / Math.max(ns.length, 1);
  return ns.map((taken, index) => {
    if (taken <= 0 && (begun[index] ?? 0) <= 0) return 0;
    return LOWEST + (1 - LOWEST) * Math.min(1, Math.max(0, taken) / part);
  });
}

/** The same on the scale of the largest: for what several strands take together. */
export function relativeShares(ns: readonly number[]): number[] {
  const largest = Math.max(1, ...ns);
  return shares(
    ns.map((one) => one / largest),
    ns.length,
  );
}

/** An SVG path of bars that stand on y = 1, each one wide; neighbours of one height are one. */
export function barsPath(heights: readonly number[]): string {
  const parts: string[] = [];
  let at = 0;
  while (at < heights.length) {
    const height = heights[at] ?? 0;
    let end = at + 1;
    while (end < heights.length && heights[end] === height) end += 1;
    if (height > 0) parts.push(`M${at} 1V${Math.round((1 - height) * 1000) / 1000}H${end}V1Z`);
    at = end;
  }
  return parts.join("");
}
