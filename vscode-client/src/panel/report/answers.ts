/**
 * A report: answers to some questions, read from the page itself.
 *
 * Invariant: a question gets the answer to exactly that question, or an error that the report has none.
 */
import { type ReportWalk, WalkAnswers } from "../views/walk/report";
import { EntityAnswers, type ReportEntities } from "../views/entities/report";
import { type ReportTimeline, TimelineAnswers } from "../views/timeline/report";
import type { EntitiesResult, Location, Method, RunRef, RunsResult, SourceResult } from "../../shared/protocol";

export interface ReportEntry {
  section: string;
  title: string;
  view: string;
  question: object;
  /** What the answer says of itself, "" for nothing. */
  message: string;
}

export interface ReportData {
  run: RunRef;
  created: number;
  runs: RunsResult;
  entries: readonly ReportEntry[];
  answers: readonly { view: string; method: Method; params: object; result: unknown }[];
  /** What tiles, arrows and calls are taken from; null where the report has no timeline. */
  timeline: ReportTimeline | null;
  /** What moments, steps and entities are taken from; null where the report has none. */
  entities: ReportEntities | null;
  /** What the steps of walks are put together of; null where the report has none. */
  walk: ReportWalk | null;
  sources: readonly SourceResult[];
  /** Of the answers, in bytes. */
  limit: number;
  leftOut: readonly string[];
  /** The script that lays graphs out. */
  layout: string;
}

/** The server's defaults. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  level: "function",
  direction: "backward",
  strands: "thread",
  measure: "self",
};

/** The same text for all ways to ask the same: how much may be shown is no part of the question. */
export function questionKey(method: string, params: object, run: string): string {
  return `${method} ${JSON.stringify(canonical({ ...params, run: runOf(params) || run }))}`;
}

/** An answer may have to be unpacked first, and then comes later. */
export function answersOf(data: ReportData): (method: Method, params: object) => unknown {
  const timeline = data.timeline && new TimelineAnswers(data.timeline);
  const shown = data.answers.find((one) => one.method === "clew/entities")?.result as EntitiesResult | undefined;
  const entities = data.entities && shown && new EntityAnswers(data.entities, shown);
  const walks = data.walk && new WalkAnswers(data.walk, data.run);
  const selected = data.runs.selected;
  const named = new Map<string, string>();
  // The newest of a name is meant, and they are listed with the newest first.
  for (const run of [...data.runs.runs].reverse()) named.set(run.name, run.id);
  const byId = (value: unknown): unknown => {
    if (typeof value === "string") return named.get(value) ?? value;
    return Array.isArray(value) ? value.map((one: unknown) => byId(one)) : value;
  };
  const key = (method: string, params: object): string => {
    const asked: Record<string, unknown> = { ...params };
    for (const name of RUNS) if (name in asked) asked[name] = byId(asked[name]);
    return questionKey(method, asked, selected);
  };
  const known = new Map(data.answers.map((one) => [key(one.method, one.params), one.result]));
  return (method, params) => {
    if (method === "clew/runs" || method === "clew/selectRun" || method === "clew/chooseBaseline") return data.runs;
    if (method === "clew/views") return { views: [], message: "" };
    if (method === "clew/source") return sourceOf(data.sources, params as { location: Location; context?: number });
    const found =
      timeline?.answer(method, params) ??
      entities?.answer(method, params) ??
      walks?.answer(method, params) ??
      known.get(key(method, nearest(method, params)));
    if (found === undefined) throw new NotThere(data.run.name);
    return found;
  };
}

/** What a report has no answer to. */
class NotThere extends Error {
  constructor(run: string) {
    super(
      `This answer is not in the report. “Contents” lists the answers it has. For all others open the run in the editor or with \`clew view ${run}\`.`,
    );
  }
}

/** How many percent faster a report knows the answers for. */
const FASTER = 20;

/** The nearest question that a report has an answer to, where the answer itself says which. */
function nearest(method: Method, params: object): object {
  if (method !== "clew/whatIf" || !("percent" in params) || typeof params.percent !== "number") return params;
  return { ...params, percent: Math.max(FASTER, Math.round(params.percent / FASTER) * FASTER) };
}

/** Names of parameters that hold runs. */
const RUNS: ReadonlySet<string> = new Set(["run", "before", "after", "suspect", "reference"]);

function sourceOf(
  sources: readonly SourceResult[],
  { location: { path, line }, context = 12 }: { location: Location; context?: number },
): SourceResult {
  const found = sources.find(
    (one) => one.path === path && line >= one.firstLine && line < one.firstLine + one.lines.length,
  );
  if (!found)
    return { path, firstLine: line, lines: [], message: "The report does not contain this part of the source." };
  const first = Math.max(found.firstLine, line - context);
  const from = first - found.firstLine;
  return { ...found, firstLine: first, lines: found.lines.slice(from, line + context + 1 - found.firstLine) };
}

function runOf(params: object): string {
  return "run" in params && typeof params.run === "string" ? params.run : "";
}

/** Without what is empty or usual, in one order. */
function canonical(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(canonical);
  return Object.fromEntries(
    Object.entries(value as Record<string, unknown>)
      .filter(([name, one]) => !name.startsWith("max") && !isEmpty(one) && DEFAULTS[name] !== one)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, one]) => [name, canonical(one)]),
  );
}

function isEmpty(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === "" || value === false;
}
