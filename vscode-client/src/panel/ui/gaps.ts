/**
 * The intervals in which events are missing. They are drawn hatched and never count as idle.
 *
 * Invariant: spans lie within 0 and 1, in order, and do not overlap.
 */
import type { MissingEvents } from "../../shared/protocol";
import { count, shortLabel } from "./text/format";

/** A part of a whole that goes from 0 to 1. */
export interface Span {
  start: number;
  length: number;
}

/** `least`: the smallest share that can still be seen. */
export function gapSpans(gaps: readonly MissingEvents[], fromNs: number, toNs: number, least: number): Span[] {
  const whole = toNs - fromNs;
  const inside = gaps.filter((gap) => gap.fromNs <= toNs && gap.toNs >= fromNs);
  // A gap next to a single moment covers the whole width.
  if (whole <= 0) return inside.length > 0 ? [{ start: 0, length: 1 }] : [];
  const spans = inside
    .map((gap) => {
      const begin = Math.max(0, (gap.fromNs - fromNs) / whole);
      const end = Math.min(1, (gap.toNs - fromNs) / whole);
      const length = Math.min(1, Math.max(end - begin, least));
      return { start: Math.min(begin, 1 - length), length };
    })
    .sort((a, b) => a.start - b.start);
  const apart: Span[] = [];
  for (const span of spans) {
    const last = apart.at(-1);
    if (last && span.start <= last.start + last.length) {
      last.length = Math.max(last.length, span.start + span.length - last.start);
    } else apart.push(span);
  }
  return apart;
}

/** What is missing, in little room: `41 calls of store.look_up`, `events of MainThread`. */
export function gapName(gap: MissingEvents): string {
  const noun = gap.function ? "call" : "event";
  const many = gap.lost === null ? `${noun}s` : count(gap.lost, noun);
  return `${many} of ${gap.function ? shortLabel(gap.function) : gap.strand}`;
}

/** Some of an answer's gaps by their places in it. */
export function gapsAt(gaps: readonly MissingEvents[], places: readonly number[]): MissingEvents[] {
  return places.flatMap((place) => gaps[place] ?? []);
}
