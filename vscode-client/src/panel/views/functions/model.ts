/** The rows of a diff: bars on one scale, and the change in words that do not depend on colour. */
import type { DiffRow } from "../../../shared/protocol";
import { change, duration, thousands } from "../../ui/text/format";
import { matcher } from "../../ui/searchMatch";

export interface DiffLine {
  row: DiffRow;
  rank: number;
  /** Shares (0 to 1) of the longest self time of all rows. */
  before: number;
  after: number;
  /** `+1.2 s`, `−40 µs`. */
  change: string;
  /** `×4.1`, `÷2.0`, `new`, `gone`, empty where a ratio says nothing. */
  factor: string;
  trend: "slower" | "faster" | "same";
  calls: string;
  perCall: string;
}

export function diffLines(rows: readonly DiffRow[]): DiffLine[] {
  const longest = Math.max(1, ...rows.map((row) => Math.max(row.selfBeforeNs, row.selfAfterNs)));
  return rows.map((row, index) => ({
    row,
    rank: index + 1,
    before: row.selfBeforeNs / longest,
    after: row.selfAfterNs / longest,
    change: change(row.deltaNs),
    factor: factor(row),
    trend: row.deltaNs > 0 ? "slower" : row.deltaNs < 0 ? "faster" : "same",
    calls: pair(row, thousands(row.callsBefore), thousands(row.callsAfter), thousands(row.callsAfter)),
    perCall: pair(row, duration(row.perCallBeforeNs), duration(row.perCallAfterNs), duration(row.perCallAfterNs)),
  }));
}

/** Rows whose label has every word of `text`; all for an empty text. */
export function filterRows(rows: readonly DiffRow[], text: string): DiffRow[] {
  const matches = matcher(text);
  return rows.filter((row) => matches(row.label));
}

function factor(row: DiffRow): string {
  if (row.status === "after") return "new";
  if (row.status === "before") return "gone";
  if (row.selfBeforeNs <= 0 || row.selfAfterNs <= 0) return "";
  const ratio = row.selfAfterNs / row.selfBeforeNs;
  if (ratio > 0.95 && ratio < 1.05) return "";
  const times = (value: number): string => (value >= 9.95 ? thousands(value) : value.toFixed(1));
  return ratio > 1 ? `×${times(ratio)}` : `÷${times(1 / ratio)}`;
}

function pair(row: DiffRow, before: string, after: string, same: string): string {
  if (row.status === "before") return `${before} → –`;
  if (row.status === "after") return `– → ${after}`;
  return before === after ? same : `${before} → ${after}`;
}
