/**
 * Where the panel is: view, question, settings, as a text for the address bar or the editor's memory.
 *
 * Invariant: `decode(encode(place))` is the same place; a text from elsewhere decodes to the nearest valid place.
 */
import type {
  CompareParams,
  CriticalPathParams,
  DiffParams,
  LocalizeParams,
  Location,
  PatternsParams,
  SliceParams,
  Target,
} from "../../shared/protocol";
import type { Flow } from "../layout/types";

export const VIEW_NAMES = ["slice", "path", "diff", "compare", "suspects", "patterns"] as const;
export type ViewName = (typeof VIEW_NAMES)[number];

export interface Place {
  view: ViewName;
  slice: SliceParams;
  path: CriticalPathParams;
  diff: DiffParams;
  compare: CompareParams;
  suspects: LocalizeParams;
  patterns: PatternsParams;
  flow: Flow | "auto";
  showPath: boolean;
  search: string;
}

export const DEFAULT_LEVEL = "function";
export const DEFAULT_MAX_NODES = 300;

export function startingPlace(): Place {
  return {
    view: "slice",
    slice: { target: {} },
    path: { target: {} },
    diff: { before: "", after: "" },
    compare: { before: [], after: [] },
    suspects: { suspect: [] },
    patterns: {},
    flow: "auto",
    showPath: false,
    search: "",
  };
}

export function encode(place: Place): string {
  const words = new URLSearchParams();
  const put = (name: string, value: string | number | undefined, unless: string | number = ""): void => {
    if (value !== undefined && value !== unless) words.set(name, String(value));
  };
  put("view", place.view);
  if (place.view === "diff") {
    put("before", place.diff.before);
    put("after", place.diff.after);
    put("level", place.diff.level, DEFAULT_LEVEL);
    put("rows", place.diff.maxRows);
  } else if (place.view === "compare") {
    const { before, after, level, request, category, precursor, maxRows } = place.compare;
    for (const run of before) words.append("before", run);
    for (const run of after) words.append("after", run);
    put("level", level, DEFAULT_LEVEL);
    put("request", request);
    put("category", category);
    put("beside", precursor);
    put("rows", maxRows);
  } else if (place.view === "suspects") {
    const { suspect, reference, request, maxSuspects } = place.suspects;
    for (const run of suspect) words.append("after", run);
    for (const run of reference ?? []) words.append("before", run);
    put("reference", reference?.length === 0 ? "none" : "");
    put("request", request);
    put("rows", maxSuspects);
  } else if (place.view === "patterns") {
    const { run, level, strand, calls, times, maxPatterns } = place.patterns;
    put("run", run);
    put("level", level, DEFAULT_LEVEL);
    put("strand", strand);
    put("calls", calls);
    put("times", times);
    put("rows", maxPatterns);
  } else {
    const asked = place.view === "slice" ? place.slice : place.path;
    put("run", asked.run);
    put("level", asked.level, DEFAULT_LEVEL);
    encodeTarget(asked.target, put);
  }
  if (place.view === "slice") {
    put("direction", place.slice.direction, "backward");
    put("nodes", place.slice.maxNodes);
    put("path", place.showPath ? "shown" : "");
  }
  put("flow", place.flow, "auto");
  put("search", place.search);
  return words.toString();
}

export function decode(text: string): Place {
  const words = new URLSearchParams(text);
  const place = startingPlace();
  const level = words.get("level");
  const run = words.get("run");
  const shared = {
    target: decodeTarget(words),
    ...(run === null ? {} : { run }),
    ...(level === null ? {} : { level }),
  };
  const nodes = whole(words.get("nodes"));
  const rows = whole(words.get("rows"));
  place.view = oneOf(words.get("view"), VIEW_NAMES, "slice");
  if (place.view === "slice") {
    place.slice = {
      ...shared,
      ...(words.get("direction") === "forward" ? { direction: "forward" } : {}),
      ...(nodes === undefined ? {} : { maxNodes: nodes }),
    };
  } else if (place.view === "path") place.path = shared;
  else if (place.view === "suspects") {
    const reference = words.getAll("before").filter(Boolean);
    place.suspects = {
      suspect: words.getAll("after").filter(Boolean),
      ...(reference.length > 0 || words.get("reference") === "none" ? { reference } : {}),
      ...(rows === undefined ? {} : { maxSuspects: rows }),
      ...given("request", words.get("request")),
    };
  } else if (place.view === "patterns") {
    const [calls, times] = [whole(words.get("calls")), whole(words.get("times"))];
    place.patterns = {
      ...(run === null ? {} : { run }),
      ...(level === null ? {} : { level }),
      ...given("strand", words.get("strand")),
      ...(calls === undefined ? {} : { calls }),
      ...(times === undefined ? {} : { times }),
      ...(rows === undefined ? {} : { maxPatterns: rows }),
    };
  } else if (place.view === "compare") {
    place.compare = {
      before: words.getAll("before").filter(Boolean),
      after: words.getAll("after").filter(Boolean),
      ...(level === null ? {} : { level }),
      ...(rows === undefined ? {} : { maxRows: rows }),
      ...given("request", words.get("request")),
      ...given("category", words.get("category")),
      ...given("precursor", words.get("beside")),
    };
  } else {
    place.diff = {
      before: words.get("before") ?? "",
      after: words.get("after") ?? "",
      ...(level === null ? {} : { level }),
      ...(rows === undefined ? {} : { maxRows: rows }),
    };
  }
  place.showPath = words.get("path") === "shown";
  place.flow = oneOf(words.get("flow"), ["down", "right", "auto"], "auto");
  place.search = words.get("search") ?? "";
  return place;
}

/** Do two places ask the same question? Then going from one to the other is no step of the browser's history. */
export function sameQuestion(a: Place, b: Place): boolean {
  const bare = (place: Place): string => encode({ ...place, flow: "auto", search: "", showPath: false });
  return bare(a) === bare(b);
}

/** The run that a place asks for, "" where it leaves that to the server. */
export function askedRun(place: Place): string {
  if (place.view === "diff") return place.diff.after;
  if (place.view === "compare") return place.compare.after[0] ?? "";
  if (place.view === "suspects") return place.suspects.suspect[0] ?? "";
  return place[place.view].run ?? "";
}

/** Does the view show one run, the one that is selected unless another is asked for? */
export function isOfOneRun(view: ViewName): boolean {
  return view !== "diff" && view !== "compare" && view !== "suspects";
}

/** What a target says, in words. */
export function describeTarget(target: Target): string {
  if (target.event !== undefined && target.event !== null) return `event ${target.event}`;
  if (target.text) return `“${target.text}”`;
  if (target.function) return target.function;
  if (target.location) {
    return `${target.location.path.slice(target.location.path.lastIndexOf("/") + 1)}:${target.location.line}`;
  }
  return "the newest error";
}

function encodeTarget(target: Target, put: (name: string, value: string | number | undefined) => void): void {
  put("event", target.event ?? undefined);
  put("text", target.text ?? undefined);
  put("function", target.function ?? undefined);
  put("file", target.location?.path);
  put("line", target.location?.line);
}

function decodeTarget(words: URLSearchParams): Target {
  const event = whole(words.get("event"));
  if (event !== undefined) return { event };
  const text = words.get("text");
  if (text) return { text };
  const name = words.get("function");
  if (name) return { function: name };
  const path = words.get("file");
  const line = whole(words.get("line"));
  if (path && line !== undefined) {
    const location: Location = { path, line };
    return { location };
  }
  return {};
}

/** A field only where there is a text for it. */
function given<N extends string>(name: N, text: string | null): Partial<Record<N, string>> {
  return text ? ({ [name]: text } as Record<N, string>) : {};
}

function whole(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function oneOf<T extends string>(text: string | null, allowed: readonly T[], otherwise: T): T {
  return allowed.find((one) => one === text) ?? otherwise;
}
