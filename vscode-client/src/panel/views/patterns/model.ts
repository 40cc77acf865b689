/** The rows of patterns: share of the time, occurrences, and neighbouring patterns. */
import type { PatternInside, PatternLine, PatternRow, PatternsResult } from "../../../shared/protocol";
import { count, duration, percent, shortLabel, thousands } from "../../ui/text/format";
import type { Span } from "../../ui/gaps";
import { matcher } from "../../ui/searchMatch";

export interface PatternView {
  row: PatternRow;
  title: string;
  /** `14 calls, 3 side by side`. */
  size: string;
  /** `12 %`, and as a share (0 to 1) of the largest one's. */
  percent: string;
  share: number;
  /** Of the share what was work in recorded code. */
  work: number;
  /** Occurrences, and in how many threads and tasks. */
  count: string;
  total: string;
  mean: string;
  spans: Span[];
}

/** At least so wide is an occurrence drawn. */
const SMALLEST = 0.003;

export function patternRows(
  result: Pick<PatternsResult, "fromNs" | "toNs">,
  patterns: readonly PatternRow[],
): PatternView[] {
  const largest = Math.max(1e-9, ...patterns.map((row) => row.share));
  return patterns.map((row) => ({
    row,
    title: row.title,
    size:
      row.width > 1 ? `${count(row.calls, "call")}, ${thousands(row.width)} side by side` : count(row.calls, "call"),
    percent: percent(row.share),
    share: row.share / largest,
    work: row.totalNs > 0 ? ((row.share / largest) * row.selfNs) / row.totalNs : 0,
    count: row.strands > 1 ? `${thousands(row.count)} in ${thousands(row.strands)}` : thousands(row.count),
    total: duration(row.totalNs),
    mean: duration(row.meanNs),
    spans: row.stretches.map((one) => spanOf(one.fromNs, one.toNs, result.fromNs, result.toNs)),
  }));
}

/** The patterns that occur in a window, what takes the most time there first, with their figures of it. */
export function inWindow(patterns: readonly PatternRow[], inside: readonly PatternInside[]): PatternRow[] {
  const byId = new Map(inside.map((one) => [one.id, one]));
  return patterns
    .flatMap((row): PatternRow[] => {
      const here = byId.get(row.id);
      if (!here) return [];
      const part = row.totalNs > 0 ? here.ns / row.totalNs : 0;
      return [{ ...row, count: here.count, totalNs: here.ns, selfNs: row.selfNs * part, share: here.share }];
    })
    .sort((a, b) => b.share - a.share || b.count - a.count);
}

/** Patterns whose title or calls have every word of `text`; all for an empty text. */
export function filterPatterns(rows: readonly PatternRow[], text: string): PatternRow[] {
  const matches = matcher(text);
  return rows.filter((row) => matches([row.title, ...row.outline.map((line) => line.label)].join(" ")));
}

export interface Neighbour {
  id: string;
  title: string;
  count: number;
  /** Of all that come next (or before). */
  share: number;
}

/** What follows a pattern (or, backward, what it follows), the most frequent first. */
export function neighbours(result: PatternsResult, id: string, which: "after" | "before"): Neighbour[] {
  const mine = which === "after" ? "before" : "after";
  const found = result.successions.filter((one) => one[mine] === id);
  const all = found.reduce((sum, one) => sum + one.count, 0);
  const titles = new Map(result.patterns.map((row) => [row.id, row.title]));
  return found
    .map((one) => ({ id: one[which], title: titles.get(one[which]) ?? "", count: one.count, share: one.count / all }))
    .filter((one) => one.title !== "")
    .sort((a, b) => b.count - a.count);
}

/** A line of the outline in words: `3 × Stock.lookup`, and what is odd about it. */
export function outlineLine(line: PatternLine): { name: string; note: string } {
  const times = line.repeats > 1 ? `${thousands(line.repeats)} × ` : "";
  const odd = [
    line.resumed ? "continues" : "",
    line.end === "returned" ? "" : line.end === "raised" ? "raises" : line.end,
    line.calls > 1 ? count(line.calls, "call") : "",
    `${duration(line.meanNs)} each`,
  ];
  return { name: `${times}${shortLabel(line.label)}`, note: odd.filter(Boolean).join(" · ") };
}

/** The position of an interval in a time span, from 0 to 1. */
function spanOf(from: number, to: number, begin: number, end: number): Span {
  const whole = Math.max(end - begin, 1);
  const length = Math.min(1, Math.max((Math.min(to, end) - Math.max(from, begin)) / whole, SMALLEST));
  return { start: Math.min(Math.max((from - begin) / whole, 0), 1 - length), length };
}
