/**
 * The rows of a critical path: a long segment is one row, a sequence of short segments folds into one row.
 *
 * Invariant: rows keep the order in time, and every segment is in exactly one row.
 */
import type { MissingEvents, PathSegment } from "../../shared/protocol";

export interface SegmentRow {
  /** One segment, or several that are folded. */
  segments: readonly PathSegment[];
  startNs: number;
  endNs: number;
  selfNs: number;
  waitNs: number;
  slackNs: number;
}

export const ROWS_OF_THEIR_OWN = 24;
/** Number of search results that are not folded, however short. */
export const ROWS_FOUND = 400;
/** Below this share of the whole a segment is short, unless there are few. */
const SHORT = 0.004;
const FEW = 12;

/** `opened`: start times of folded rows that the user opened; `few`: number of rows that are not folded. */
export function segmentRows(
  segments: readonly PathSegment[],
  longest: number,
  opened: ReadonlySet<number> = new Set(),
  few = FEW,
): SegmentRow[] {
  const whole = segments.reduce((sum, segment) => sum + length(segment), 0);
  const ranked = [...segments].sort((a, b) => length(b) - length(a)).slice(0, longest);
  const apart = new Set(segments.length <= few ? segments : ranked.filter((one) => length(one) >= whole * SHORT));
  const rows: SegmentRow[] = [];
  let fold: PathSegment[] = [];
  const close = (): void => {
    const [first] = fold;
    if (!first) return;
    if (fold.length === 1 || opened.has(first.startNs)) rows.push(...fold.map((one) => row([one])));
    else rows.push(row(fold));
    fold = [];
  };
  for (const segment of segments) {
    if (apart.has(segment)) {
      close();
      rows.push(row([segment]));
    } else fold.push(segment);
  }
  close();
  return rows;
}

/** A line of the list: a row, or an interval with missing events. */
export type SegmentLine = { row: SegmentRow; gap?: undefined } | { row?: undefined; gap: MissingEvents };

/** The rows, each gap after the first row that contains it; a gap outside of all rows is at its own time. */
export function withGaps(rows: readonly SegmentRow[], gaps: readonly MissingEvents[]): SegmentLine[] {
  const after = new Map<number, MissingEvents[]>();
  gaps.forEach((gap, place) => {
    const holder = rows.findIndex((one) => one.segments.some((segment) => segment.gaps.includes(place)));
    const begun = rows.filter((one) => one.startNs <= gap.fromNs).length - 1;
    const at = holder >= 0 ? holder : begun;
    after.set(at, [...(after.get(at) ?? []), gap]);
  });
  const lines = (at: number): SegmentLine[] => (after.get(at) ?? []).map((gap) => ({ gap }));
  return [...lines(-1), ...rows.flatMap((one, at): SegmentLine[] => [{ row: one }, ...lines(at)])];
}

function row(segments: readonly PathSegment[]): SegmentRow {
  const sum = (value: (segment: PathSegment) => number): number => segments.reduce((all, one) => all + value(one), 0);
  return {
    segments,
    startNs: Math.min(...segments.map((one) => one.startNs)),
    endNs: Math.max(...segments.map((one) => one.endNs)),
    selfNs: sum((one) => one.selfNs),
    waitNs: sum((one) => one.waitNs),
    // Of several each has its own, and all together have none.
    slackNs: segments.length === 1 ? (segments[0]?.slackNs ?? 0) : 0,
  };
}

function length(segment: PathSegment): number {
  return segment.selfNs + segment.waitNs;
}
