/**
 * Decides which calls and edges became significantly slower at the user's threshold, and explains the result.
 *
 * Invariant: the panel decides this only here, from the probabilities and times of the server.
 */
import { count, duration } from "../../../../ui/text/format";
import type { Flow, FlowCall } from "./flow";

export interface Threshold {
  /** The largest probability that a difference is chance. */
  alpha: number;
  /** The least growth, as a share of the time before. */
  slower: number;
}

export const ALPHAS = [1e-6, 1e-5, 1e-4, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1] as const;
export const GROWTHS = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10] as const;
/** Of the least growth a tenth as a share of the response: less is a trifle, however large a share of its call. */
const OF_RESPONSE = 0.1;

export interface Significance {
  /** Calls whose own time surely grew, by id. */
  calls: ReadonlySet<string>;
  /** Calls whose edge, what their caller sees, surely did. */
  edges: ReadonlySet<string>;
  tested: number;
  /** Calls that grew by as much but may have done so by chance, the largest growth first. */
  unsure: readonly FlowCall[];
  /** Calls that grew significantly, but by less. */
  small: number;
  /** Calls that differ by as much, one way or the other, and could not be tested. */
  untested: ReadonlySet<string>;
}

export function significance(flow: Flow, threshold: Threshold): Significance {
  const least = threshold.slower * OF_RESPONSE * flow.response.before;
  const calls = new Set<string>();
  const edges = new Set<string>();
  const untested = new Set<string>();
  const unsure: FlowCall[] = [];
  let [tested, small] = [0, 0];
  for (const call of flow.calls) {
    const { before, after } = call.times;
    if (!before || !after) continue;
    const enough = (from: number, to: number): boolean => to - from > Math.max(threshold.slower * from, least);
    const grew = enough(before.ownNs, after.ownNs);
    if (call.p !== null) tested += 1;
    else if (grew || enough(after.ownNs, before.ownNs)) untested.add(call.id);
    if (call.p !== null && call.p <= threshold.alpha) {
      if (grew) calls.add(call.id);
      else if (after.ownNs > before.ownNs) small += 1;
    } else if (grew && call.p !== null) unsure.push(call);
    if (call.pEdge !== null && call.pEdge <= threshold.alpha && before.edgeNs !== null && after.edgeNs !== null) {
      if (enough(before.edgeNs, after.edgeNs)) edges.add(call.id);
    }
  }
  unsure.sort((a, b) => growth(b) - growth(a));
  return { calls, edges, tested, unsure, small, untested };
}

/** Of its own time, all of it for a call that only one side has. */
export function growth(call: FlowCall): number {
  return (call.times.after?.ownNs ?? 0) - (call.times.before?.ownNs ?? 0);
}

/** `5 %`, `0.1 %`, `0.0001 %`. */
export function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}

/** What is marked at this threshold, and what that does and does not mean. */
export function explanation(flow: Flow, found: Significance, threshold: Threshold): string[] {
  const { before, after } = flow.counts;
  if (found.tested === 0) {
    return [
      before === 1 && after === 1
        ? "One request is compared with one other, so no difference can be tested or marked. The times are those of the two requests."
        : "No difference could be tested or marked: both sides need several requests of the flow.",
    ];
  }
  const size =
    threshold.slower > 0
      ? `it grew by at least ${percent(threshold.slower)} and by ${duration(threshold.slower * OF_RESPONSE * flow.response.before)}`
      : "it grew at all";
  const sure =
    threshold.alpha >= 1
      ? "Regardless of chance"
      : `A difference between ${count(before, "request")} and ${after} arises by chance in at most ${percent(threshold.alpha)} of cases (p ≤ ${threshold.alpha}, corrected for ${count(found.tested, "call")} tested)`;
  const marked = `${count(found.calls.size, "call")} and ${count(found.edges.size, "edge")} are marked`;
  const words = [`${sure}, and ${size}: ${marked}.`];
  const [largest] = found.unsure;
  const unsure = largest
    ? `${count(found.unsure.length, "call")} grew by as much but ${found.unsure.length === 1 ? "varies" : "vary"} so widely that the growth may be chance (largest: ${largest.name}, by ${duration(growth(largest))})`
    : "";
  const small = found.small > 0 ? `${count(found.small, "call")} grew significantly, but by less` : "";
  const besides = [unsure, small].filter(Boolean).join("; ");
  words.push(
    besides
      ? `Significant does not mean large: ${besides}.`
      : "Significant does not mean large: it means that chance is an unlikely reason.",
  );
  return words;
}

/** The nearest of the slider's steps. */
export function stepOf(steps: readonly number[], value: number): number {
  const off = (step: number): number => Math.abs(Math.log((step + 1e-9) / (value + 1e-9)));
  return steps.reduce((best, step, index) => (off(step) < off(steps[best] ?? 0) ? index : best), 0);
}
