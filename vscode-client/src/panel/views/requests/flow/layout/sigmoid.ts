/**
 * The drawn length of a latency: a sigmoid over its logarithm, so that microseconds and seconds fit in one picture.
 *
 * Invariant: a longer latency gets more px, every length is between the shortest and the longest, and one scale serves both sides.
 */
export interface Range {
  shortest: number;
  longest: number;
}

/** How steep: ten times the median is seven eighths of the way. */
const STEEPNESS = 0.85;

export function sigmoid(latencies: readonly number[], { shortest, longest }: Range): (ns: number) => number {
  const sorted = latencies.filter((ns) => ns > 0).sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)] ?? 1;
  return (ns) => (ns <= 0 ? shortest : shortest + (longest - shortest) / (1 + (middle / ns) ** STEEPNESS));
}
