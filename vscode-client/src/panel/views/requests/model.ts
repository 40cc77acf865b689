/** The rows of compared categories of requests, and the calls that became slower. */
import type { CompareCall, CompareRow } from "../../../shared/protocol";
import { change, count, duration, shortLabel, thousands } from "../../ui/text/format";
import { probability } from "../../ui/text/probability";
import { matcher } from "../../ui/searchMatch";

export interface CategoryLine {
  row: CompareRow;
  /** What happened to it, in a word; empty where nothing did. */
  word: "slower" | "faster" | "new" | "more often" | "";
  /** `19 → 33`, or one number where it stayed. */
  counts: string;
  /** Shares (0 to 1) of the longest median of all rows. */
  before: number;
  after: number;
  /** Medians, `–` on a side that has none. */
  medianBefore: string;
  medianAfter: string;
  /** `+2.1 ms`: the median of all differences, or of a flow that is new how many more there are. */
  change: string;
  factor: string;
  /** `p < 0.001`, empty where nothing was tested. */
  sure: string;
  /** What the change costs all its requests. */
  cost: string;
}

export function categoryLines(rows: readonly CompareRow[]): CategoryLine[] {
  const longest = Math.max(1, ...rows.flatMap((row) => [row.medianBeforeNs ?? 0, row.medianAfterNs ?? 0]));
  return rows.map((row) => ({
    row,
    word: word(row),
    counts:
      row.countBefore === row.countAfter
        ? thousands(row.countAfter)
        : `${thousands(row.countBefore)} → ${thousands(row.countAfter)}`,
    before: (row.medianBeforeNs ?? 0) / longest,
    after: (row.medianAfterNs ?? 0) / longest,
    medianBefore: row.medianBeforeNs === null ? "–" : duration(row.medianBeforeNs),
    medianAfter: row.medianAfterNs === null ? "–" : duration(row.medianAfterNs),
    change:
      row.kind === "structural"
        ? `+${thousands(Math.max(1, row.countAfter - row.expected))}`
        : row.shiftNs === null
          ? ""
          : change(row.shiftNs),
    factor: row.kind === "structural" ? "requests" : ratio(row.medianBeforeNs, row.shiftNs),
    sure: probability(row.p),
    cost: row.kind === "" ? "" : change(row.costNs),
  }));
}

function word(row: CompareRow): CategoryLine["word"] {
  if (row.kind === "response-time") return row.costNs < 0 ? "faster" : "slower";
  if (row.kind === "") return "";
  return row.countBefore === 0 ? "new" : "more often";
}

/** A label that distinguishes flows of one name: the call that changed most, else the start of the flow and its size. */
export function landmark(row: CompareRow): string {
  const slower = slowerCalls(row.calls)[0];
  if (slower) return shortLabel(slower.label);
  const pairs = row.flow.split(" ");
  const first = pairs[0]?.split(">")[1];
  if (!first) return "";
  const cut = row.flow.endsWith("…");
  return `${shortLabel(first)} … ${cut ? `more than ${count(pairs.length - 1, "call")}` : count(pairs.length + 1, "call")}`;
}

/** Rows whose name, flow or slower calls have every word of `text`; all for an empty text. */
export function filterCategories(rows: readonly CompareRow[], text: string): CompareRow[] {
  const matches = matcher(text);
  return rows.filter((row) => matches(`${row.name} ${row.flow} ${row.calls.map((call) => call.label).join(" ")}`));
}

/** Calls of one function in one flow as one: those that changed most first, but victims of a queue after the rest. */
export interface SlowerCall {
  label: string;
  channel: string;
  calls: number;
  ownBeforeNs: number;
  ownAfterNs: number;
  p: number;
  isVictim: boolean;
  location: CompareCall["location"];
}

export function slowerCalls(calls: readonly CompareCall[]): SlowerCall[] {
  const found = new Map<string, SlowerCall>();
  for (const call of calls) {
    const key = `${call.label}\n${call.channel}`;
    const known = found.get(key);
    if (known) {
      known.calls += 1;
      known.ownBeforeNs += call.ownBeforeNs;
      known.ownAfterNs += call.ownAfterNs;
    } else {
      const { label, channel, ownBeforeNs, ownAfterNs, p, isVictim, location } = call;
      found.set(key, { label, channel, calls: 1, ownBeforeNs, ownAfterNs, p, isVictim, location });
    }
  }
  const size = (call: SlowerCall): number => Math.abs(call.ownAfterNs - call.ownBeforeNs);
  return [...found.values()].sort((a, b) => Number(a.isVictim) - Number(b.isVictim) || size(b) - size(a));
}

function ratio(before: number | null, shift: number | null): string {
  if (before === null || shift === null || before <= 0) return "";
  const grown = (before + shift) / before;
  if (grown >= 3) return `×${grown >= 9.95 ? thousands(grown) : grown.toFixed(1)}`;
  const percent = Math.round(100 * (grown - 1));
  return percent === 0 ? "" : `${percent > 0 ? "+" : "−"}${Math.abs(percent)} %`;
}
