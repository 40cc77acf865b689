/** What the timeline's numbers say to people, and what of it is searched for. */
import type {
  TimelineCall,
  TimelineFunction,
  TimelineParams,
  TimelineResult,
  TimelineSearchResult,
} from "../../shared/protocol";
import { count, duration, shortLabel, thousands } from "./format";
import type { Lane } from "./lanes";
import { clock, lengthOf, type Span } from "./span";

/** The functions in whose names something is; all of them where nothing is searched for. */
export function matching(functions: Iterable<TimelineFunction>, search: string): Set<number> {
  const wanted = search.trim().toLowerCase();
  const found = new Set<number>();
  for (const { site, label } of functions) if (label.toLowerCase().includes(wanted)) found.add(site);
  return found;
}

/** `chunkstore.client:write` took 1.2 ms, of that 0.3 ms its own. */
export function callSentence(call: TimelineCall): string {
  const own = Math.max(0, call.selfNs);
  return [
    `${shortLabel(call.label)}${call.resumed ? " went on" : ""}`,
    `${duration(call.toNs - call.fromNs)}, ${duration(own)} of it its own`,
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

/** What is on the screen, for who cannot see it. */
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
    `${shown} seen${folded.length > 0 ? ` and ${count(folded.length, "folded process")}` : ""}.`,
    busiest.length > 0 ? `Busiest: ${busiest.join(", ")}.` : "",
  ]
    .filter(Boolean)
    .join(" ");
}

/** What to ask the timeline to see a stretch of a run with some room around it. */
export function stretchQuestion(run: string, fromNs: number, toNs: number): TimelineParams {
  const room = Math.max(1000, Math.ceil((toNs - fromNs) * 0.1));
  return { run, fromNs: Math.max(0, Math.floor(fromNs) - room), toNs: Math.ceil(toNs) + room };
}

/** The same of a moment, with a fiftieth of the run around it. */
export function aroundQuestion(run: string, ns: number, whole: { fromNs: number; toNs: number }): TimelineParams {
  const room = (whole.toNs - whole.fromNs) / 100;
  return stretchQuestion(run, ns - room, ns + room);
}

/** What was left out, in words; "" for nothing. */
export function leftOut(result: TimelineResult): string {
  const parts = [
    result.hiddenStrands > 0 ? `${thousands(result.hiddenStrands)} more threads and tasks, with the fewest events` : "",
    result.hiddenGaps > 0 ? `${count(result.hiddenGaps, "more stretch")} with missing events` : "",
  ];
  return parts.filter(Boolean).join("; ");
}
