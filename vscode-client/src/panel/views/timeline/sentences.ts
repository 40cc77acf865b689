/** Texts about the numbers of a timeline, and the match of function names. */
import type { TimelineCall, TimelineFunction, TimelineResult, TimelineSearchResult } from "../../../shared/protocol";
import { count, duration, shortLabel, thousands } from "../../ui/text/format";
import type { Lane } from "./draw/lanes";
import { clock, lengthOf, type Span } from "../../ui/timeSpan";

/** The functions in whose names something is; all of them where nothing is searched for. */
export function matchingFunctions(functions: Iterable<TimelineFunction>, search: string): Set<number> {
  const wanted = search.trim().toLowerCase();
  const found = new Set<number>();
  for (const { site, label } of functions) if (label.toLowerCase().includes(wanted)) found.add(site);
  return found;
}

/** `chunkstore.client:write` took 1.2 ms, of that 0.3 ms its own. */
export function callSentence(call: TimelineCall): string {
  const own = Math.max(0, call.selfNs);
  return [
    `${shortLabel(call.label)}${call.resumed ? " continued" : ""}`,
    `${duration(call.toNs - call.fromNs)}, self time ${duration(own)}`,
    `at ${clock(call.fromNs)}`,
    `${call.strandName} of ${call.process}`,
    `event ${thousands(call.event)}`,
  ].join(" · ");
}

/** `1,200 calls of 3 functions, 4 log lines`: what a search has found in the whole run. */
export function foundSentence({ calls, functions, logs, message }: TimelineSearchResult): string {
  const parts = [
    calls > 0 || logs === 0
      ? `${count(calls, "call")}${functions > 0 ? ` of ${count(functions, "function")}` : ""}`
      : "",
    logs > 0 ? count(logs, "log line") : "",
  ];
  return parts.filter(Boolean).join(", ") + (message ? ` (${message})` : "");
}

/** The visible part in words, for screen readers. */
export function summary(result: TimelineResult, span: Span, seen: readonly Lane[]): string {
  const strands = seen.flatMap((lane) => (lane.kind === "strand" ? [lane.strand] : []));
  const folded = seen.filter((lane) => lane.kind === "process" && lane.folded);
  const busiest = strands
    .sort((a, b) => b.busy - a.busy)
    .slice(0, 3)
    .map((one) => `${one.name} ${Math.round(one.busy * 100)} %`);
  const shown = strands.length === 1 ? "1 thread or task" : `${thousands(strands.length)} threads and tasks`;
  return [
    `From ${clock(span.from)} to ${clock(span.to)}, ${duration(lengthOf(span))} of a run of ${duration(result.toNs - result.fromNs)}.`,
    `${shown} shown${folded.length > 0 ? ` and ${count(folded.length, "folded process")}` : ""}.`,
    busiest.length > 0 ? `Busiest: ${busiest.join(", ")}.` : "",
  ]
    .filter(Boolean)
    .join(" ");
}

/** What was left out, in words; "" for nothing. */
export function leftOut(result: TimelineResult): string {
  const parts = [
    result.hiddenStrands > 0 ? `${thousands(result.hiddenStrands)} more threads and tasks, with the fewest events` : "",
    result.hiddenGaps > 0 ? `${count(result.hiddenGaps, "more interval")} with missing events` : "",
  ];
  return parts.filter(Boolean).join("; ");
}
