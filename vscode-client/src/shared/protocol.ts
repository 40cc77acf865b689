// Generated from server/protocol/ by `python -m clew.server.typescript`; edit those files instead.

/**
 * The panel's requests and answers as typed data; `clew.server.typescript` writes the TypeScript twin from this package.
 *
 * Field names go over the wire as they stand, in camel case, so that both sides read the same words. Times are nanoseconds
 * as JSON numbers (exact below 2**53, which a run's relative times stay under). Events are row numbers of the run's graph.
 * A field with a default may be left out of a request; an answer has every field.
 */

export const PROTOCOL_VERSION = 1;

/** A notification of the server's, without data. */
export const RUNS_CHANGED = "clew/runsChanged";

/** A notification of the server's, with a `RunGrew`: at most one a second and run. */
export const RUN_GREW = "clew/runGrew";

/**
 * Commands that code lenses and hovers name. Arguments: openSlice and why take one `SliceParams`, openCompare one
 * `CompareParams`, findSuspects one `LocalizeParams`; selectRun takes one `SelectRunParams` and chooseBaseline one
 * `ChooseBaselineParams`, or nothing: they ask. record takes one `RecordableParams`, whose `kind` says what of it is recorded
 * without asking, or nothing; the next two take nothing;
 * walk.start takes one `WalkParams`. showFunctions takes the uri of a spec and a position in front of a rule's patterns: what
 * `textDocument/definition` leads to there.
 */
export const COMMANDS = ["clew.openSlice", "clew.why", "clew.openCompare", "clew.findSuspects", "clew.selectRun", "clew.chooseBaseline", "clew.record", "clew.recordAgain", "clew.stopRecording", "clew.walk.start", "clew.showFunctions"] as const;

export interface AggregateParams {
  run?: string;
  /** With one, only what led to it; else the whole run. */
  target?: Target;
  /** Of the boxes before any is opened, one of the answer's `nesting`; "": processes, or machines where there are several. */
  level?: string;
  /** What processes consist of. */
  strands?: "thread" | "task";
  /** Paths of the boxes that give way to those in them. */
  opened?: string[][];
  /** What boxes are weighed by: the lighter ones are left out first, and `heat` tells of it. */
  measure?: "self" | "total" | "waiting" | "calls" | "errors";
  maxBoxes?: number;
}

export interface AggregateBox {
  /** Labels from the machine down; what it is known by. */
  path: string[];
  label: string;
  level: string;
  events: number;
  calls: number;
  selfNs: number;
  /** Of its calls, without those that were made from within. */
  totalNs: number;
  /** The part of `totalNs` that was waited for. */
  waitingNs: number;
  /** Calls that ended by an exception. */
  errors: number;
  /** Its part, 0 to 1, of what the heaviest box that is not opened has of the measure. */
  heat: number;
  /** How many boxes are in it; 0 for a function, which cannot be opened. */
  inside: number;
  firstEvent: number;
  /** Of a function. */
  location: Location | null;
}

/** A box that is opened. */
export interface AggregateContainer {
  box: AggregateBox;
  /** How many of those in it were left out. */
  hiddenBoxes: number;
}

export interface AggregateEdge {
  /** Place in `boxes`, as `target`. */
  source: number;
  target: number;
  kind: "call" | "use" | "sync" | "state";
  channel: string;
  count: number;
  /** Mean time from one end to the other; 0 for calls. */
  delayNs: number;
}

export interface AggregateResult {
  run: RunRef;
  title: string;
  /** From the outermost to the innermost. */
  nesting: string[];
  level: string;
  /** In the order of their first events. */
  boxes: AggregateBox[];
  /** Outer ones first. */
  containers: AggregateContainer[];
  edges: AggregateEdge[];
  /** In all. */
  hiddenBoxes: number;
  /** That were only counted, and are in no box. */
  countedCalls: number;
  message: string;
}

/** When a difference counts; `CompareResult.explanation` says it in words. */
export interface CompareThresholds {
  /** The share of what is named that may be there by chance. */
  alpha?: number;
  /** Slower by at least this share of what it took. */
  slower?: number;
  /** Times are compared where n·m / (n + m) of the samples on both sides is at least this. */
  samples?: number;
  /** New or more frequent by at least so many requests, */
  more?: number;
  /** and by this share of the requests of its name. */
  share?: number;
  /** What it may come from has lost at least this share of that. */
  precursor?: number;
}

export interface CompareParams {
  /**
   * Runs by id, name or folder; `RUN@EVENT` is one request of a run, by the number of its REQUEST event;
   * `RUN@slowest`, `RUN@fastest` and `RUN@typical` (the median) say it by how long it took.
   */
  before: string[];
  after: string[];
  /** Only requests of this name. */
  request?: string;
  /** function, class, module, component, task, thread, process, machine, or the spec's. */
  level?: string;
  /** Count equal calls in a row as one. */
  coalesce?: boolean;
  /** Whose flows the graph shows, by `CompareRow.category`; "" for the first row's. */
  category?: string;
  /** Beside which flow, by `CompareRow.category`; "" for the likeliest precursor, or itself. */
  precursor?: string;
  maxRows?: number;
  maxNodes?: number;
  thresholds?: CompareThresholds;
}

/** A call that made a category slower. Times are means per request, without those of calls below. */
export interface CompareCall {
  label: string;
  /** "" at the root. */
  caller: string;
  /** What led to it: queue, http, task, …; "" for a plain call. */
  channel: string;
  /** Work, delay on the way to it, and waiting for nothing that is in the flow. */
  ownBeforeNs: number;
  ownAfterNs: number;
  /** What its caller sees: delay and all of the call. */
  edgeBeforeNs: number;
  edgeAfterNs: number;
  /** Of the own times, corrected for the calls of the flow. */
  p: number;
  sentence: string;
  location: Location | null;
}

/** A flow that there is less of than before, and that a new one may come from. */
export interface ComparePrecursor {
  category: string;
  flow: string;
  /** 1 for the same string, 0 where nothing is shared. */
  likeness: number;
  countBefore: number;
  countAfter: number;
  meanBeforeNs: number;
  sentence: string;
}

/** What tells requests that changed from those that did not: where they ran, values, logs. */
export interface CompareDifference {
  kind: "instance" | "parameter" | "log" | "failure";
  /** The call or the message. */
  subject: string;
  /** Of the requests that changed, how many it holds for, */
  share: number;
  /** and of the others. */
  otherShare: number;
  /** Corrected for all that was looked at. */
  p: number;
  sentence: string;
}

/** A category that changed in one way, or did not. One that changed in both ways is there twice. */
export interface CompareRow {
  /** Stable from run to run. */
  category: string;
  /** Of its requests. */
  name: string;
  /** "" for one that did not change. */
  kind: "response-time" | "structural" | "";
  /** Its calls as CALLER>CALLED, depth-first; cut where it is long. */
  flow: string;
  countBefore: number;
  countAfter: number;
  /** Requests there would be after, had it kept its share of its name's. */
  expected: number;
  medianBeforeNs: number | null;
  medianAfterNs: number | null;
  meanBeforeNs: number | null;
  meanAfterNs: number | null;
  /** Median of all differences between a request after and one before, */
  shiftNs: number | null;
  /** and the bounds it lies in, at 95 %. */
  lowNs: number | null;
  highNs: number | null;
  /** Cliff's delta, -1 to 1. */
  effect: number | null;
  /** Corrected for the categories tested; null where it was not tested. */
  p: number | null;
  /** What the change costs all its requests after; rows are in this order, unchanged ones last. */
  costNs: number;
  sentence: string;
  /** Those that got slower, what costs most first. */
  calls: CompareCall[];
  hiddenCalls: number;
  /** The likeliest first. */
  precursors: ComparePrecursor[];
  hiddenPrecursors: number;
  differences: CompareDifference[];
  hiddenDifferences: number;
}

/** A call of either flow, or of both. Times are means per request; null on a side that does not have it. */
export interface CompareNode {
  id: string;
  /** What fits a line; */
  label: string;
  /** all of it. */
  name: string;
  status: "both" | "before" | "after";
  /** What led to it, "" for a plain call. */
  channel: string;
  /** The node above it, after where there is an after; "" at a root. */
  parent: string;
  depth: number;
  /** Since the request's begin. */
  beginBeforeNs: number | null;
  beginAfterNs: number | null;
  totalBeforeNs: number | null;
  totalAfterNs: number | null;
  ownBeforeNs: number | null;
  ownAfterNs: number | null;
  /** Of its own time. */
  growthNs: number;
  /** How likely its own time is no longer after; whether that is enough, the panel's user says. */
  p: number | null;
  location: Location | null;
}

/** Who led to whom. Times are what the caller sees: delay and all of the call. */
export interface CompareEdge {
  source: string;
  target: string;
  status: "both" | "before" | "after";
  channel: string;
  beforeNs: number | null;
  afterNs: number | null;
  p: number | null;
}

/** Two flows, or one on both sides, as one graph. Nodes are in the order of both, callers first. */
export interface CompareGraph {
  category: string;
  /** The category before. */
  other: string;
  title: string;
  sentence: string;
  countBefore: number;
  countAfter: number;
  /** Mean. */
  responseBeforeNs: number;
  responseAfterNs: number;
  nodes: CompareNode[];
  edges: CompareEdge[];
  hiddenNodes: number;
}

export interface CompareResult {
  before: RunRef[];
  after: RunRef[];
  level: string;
  levels: string[];
  /** Of requests, for `request`. */
  names: string[];
  /** What changed most, in plain words. */
  sentence: string;
  /** When a difference counts, in plain words. */
  explanation: string;
  thresholds: CompareThresholds;
  requestsBefore: number;
  requestsAfter: number;
  categories: number;
  /** Categories with enough samples for their times to be compared. */
  tested: number;
  rows: CompareRow[];
  hiddenRows: number;
  /** Null where there is nothing to show. */
  graph: CompareGraph | null;
  /** A sentence when there is nothing to compare, with what to do. */
  message: string;
  /** Of rarer requests, which can be asked for all the same. */
  hiddenNames: number;
}

export interface DiffParams {
  /** A run's id, name or folder. */
  before: string;
  after: string;
  level?: string;
  maxRows?: number;
  /** More runs of that side, as `alsoAfter`; figures are then those of a run on average. */
  alsoBefore?: string[];
  alsoAfter?: string[];
}

export interface DiffRow {
  label: string;
  status: "both" | "before" | "after";
  /** Whole, but for the mean of several runs. */
  callsBefore: number;
  callsAfter: number;
  selfBeforeNs: number;
  selfAfterNs: number;
  /** Change of the total self time; the rows are ranked by the part of it that is beyond the scatter of the calls. */
  deltaNs: number;
  /** Of the calls that were timed, as `perCallAfterNs`. */
  perCallBeforeNs: number;
  perCallAfterNs: number;
  location: Location | null;
  /** The part of `callsBefore` that was only counted, not timed. */
  countedBefore: number;
  countedAfter: number;
  /** It changed by more than noise. */
  finding: boolean;
}

export interface DiffNode {
  id: string;
  label: string;
  status: "both" | "before" | "after";
  deltaNs: number;
  callsBefore: number;
  callsAfter: number;
  location: Location | null;
}

export interface DiffEdge {
  source: string;
  target: string;
  status: "both" | "before" | "after";
  countBefore: number;
  countAfter: number;
}

export interface DiffResult {
  /** The first run of its side, as `after`. */
  before: RunRef;
  after: RunRef;
  level: string;
  levels: string[];
  /** The finding in plain words: which function, by how much, per call and in all. */
  sentence: string;
  rows: DiffRow[];
  nodes: DiffNode[];
  edges: DiffEdge[];
  totalBeforeNs: number;
  totalAfterNs: number;
  hiddenRows: number;
  message: string;
  /** What the rows are ordered by, in words. */
  order: string;
  /** Which calls were only counted, so that their times are missing; "" for none. */
  counted: string;
  alsoBefore: RunRef[];
  alsoAfter: RunRef[];
}

export interface EntitiesParams {
  run?: string;
  /** What a spec's `entity` rules told, or machines, processes, threads and tasks; "": of the first, where there are any. */
  source?: "" | "spec" | "strands";
  /** -1: what `ns` says. */
  moment?: number;
  /** Since the run's start; -1 for the end. */
  ns?: number;
  /** Instead, when most entities are there: at the end all may be gone. */
  fullest?: boolean;
  /** Instead, right before those went with whom the run ended; `message` says when that is. */
  beforeEnd?: boolean;
  /** Only what is in this entity; -1 for all. */
  inside?: number;
  most?: number;
}

export interface EntityName {
  entity: number;
  name: string;
  kind: string;
}

export interface EntityBox {
  /** Its number: the same at all moments, and in all answers of a run and source. */
  entity: number;
  name: string;
  /** Its class, or machine, process, thread or task; "" when nothing tells. */
  kind: string;
  /** -1 outside of any. */
  container: number;
  /** unplaced: it talks or holds something, but nobody said where it is; gone: deleted, but something is still in it. */
  presence: "there" | "unplaced" | "gone";
  /** It was moved into something that is in it, and stands outside. */
  insideItself: boolean;
  /** How many are in it, at any depth. */
  holds: number;
  /** How many right in it are not among the boxes. */
  hidden: number;
  /** Communications so far. */
  sent: number;
  received: number;
}

export interface EntitiesResult {
  run: RunRef;
  source: "spec" | "strands";
  moment: number;
  /** The last moment. */
  moments: number;
  /** Of the last event by then, since the run's start. */
  ns: number;
  fromNs: number;
  toNs: number;
  /** How many there are at the moment, of `inside` or all. */
  entities: number;
  /** In the order in which they came up; with each its containers, up to `inside`. */
  boxes: EntityBox[];
  /** How many outermost ones are not among them; those that hold least are left out first. */
  hidden: number;
  /** `inside` and its containers, the outermost first; empty for all. */
  around: EntityName[];
  /** How many events happened in each of as many equal parts of the time from `fromNs` to `toNs`. */
  activity: number[];
  /** Events that could not be recorded whole. */
  failed: number;
  /** A sentence when there is nothing to show, with what to do, or about the moment that is shown. */
  message: string;
}

export interface EntityEventsParams {
  fromMoment: number;
  /** Where to go; before `fromMoment` to go back. -1: where `toNs` says. */
  toMoment?: number;
  /** Since the run's start; -1 for the end. */
  toNs?: number;
  run?: string;
  source?: "" | "spec" | "strands";
  inside?: number;
  /** Of boxes, as in `EntitiesParams`. */
  most?: number;
  mostLines?: number;
}

/** All communications from one to another, or between what is in them and not shown. */
export interface EntityLine {
  source: number;
  target: number;
  count: number;
  /** Of the last one. */
  channel: string;
  ns: number;
  event: number;
}

export interface EntityEventsResult {
  run: string;
  fromMoment: number;
  toMoment: number;
  fromNs: number;
  toNs: number;
  /** Boxes that are new at `toMoment`, or another than at `fromMoment`. */
  changed: EntityBox[];
  /** Entities that have a box no more. */
  removed: number[];
  /** Of the events between the two moments, whichever is first, with the boxes of `toMoment`. */
  lines: EntityLine[];
  /** So many more, with the fewest communications. */
  hiddenLines: number;
  /** The run is over. While it went on its moments and entities may have had other numbers. */
  finished: boolean;
  /** Communications of no line: within one box, or with an entity that is in none. */
  unseen: number;
}

export interface EntityParams {
  entity: number;
  run?: string;
  source?: "" | "spec" | "strands";
  /** -1 for the end. */
  moment?: number;
  most?: number;
}

export interface EntityHappening {
  /** Right after it. */
  moment: number;
  ns: number;
  what: "position" | "deletion" | "communication";
  /** Who moves, is deleted, or sends. */
  entity: number;
  /** The container, or who receives; -1 for none. */
  other: number;
  otherName: string;
  name: string;
  channel: string;
  event: number;
  location: Location | null;
}

export interface EntityResult {
  run: string;
  /** Null where it is not at the moment. */
  box: EntityBox | null;
  name: string;
  kind: string;
  /** Names of its containers, the outermost first. */
  path: string[];
  /** The last ones, the newest first; a container's also when something comes into it. */
  happenings: EntityHappening[];
  /**
   * Where a walk begins: the last one in which it did something itself, else the last at all; -1 for none, and for a run that
   * goes on, of which `clew/entityOrigin` tells.
   */
  event: number;
  /** Of that. */
  location: Location | null;
}

/** Where a walk begins, also in a run that goes on: of `EntityParams`. */
export interface EntityOrigin {
  /** To be walked in: of a run that goes on what was recorded by now, in which events keep their numbers. */
  run: string;
  /** -1: there is none; then `message` says why. */
  event: number;
  message: string;
}

/** The language client's `initializationOptions`. */
export interface ClientOptions {
  /**
   * The client carries out the commands `COMMANDS` itself (it has the panel). Otherwise the server offers them
   * through workspace/executeCommand and answers with a message. A client that registers them must say so, or they
   * clash.
   */
  panel?: boolean;
  /** The folder that holds `.clew`; else the first workspace folder, or the one found from there. */
  workspace?: string;
}

/** To the panel: show this view. What its parameters are is the view's own matter: it makes the nearest question of them. */
export interface OpenMessage {
  type: "open";
  view: string;
  params: unknown;
}

/** To the panel: the editor's cursor moved. */
export interface CursorMessage {
  type: "cursor";
  location: Location;
}

/** To the panel: a run began, went on, ended or was removed, or another one was selected. */
export interface RunsChangedMessage {
  type: "runsChanged";
}

/** From the panel: show this place of a run in the editor. */
export interface RevealMessage {
  type: "reveal";
  /** As it was recorded. */
  location: Location;
  run: string;
}

/** From the panel: it listens now. */
export interface ReadyMessage {
  type: "ready";
}

/** A run that is being recorded, as it was found at the last look; told again only when there is more of it. */
export interface RunGrew {
  /** Its id. */
  run: string;
  name: string;
  /** Since its start. */
  elapsedNs: number;
  processes: number;
  events: number;
  /** Those included that were only counted. */
  calls: number;
  /** Log lines of level ERROR and above. */
  errors: number;
  /** It is over: nothing more will be told of it, and all that is asked of it is of the whole run. */
  finished: boolean;
  /** A relay said so when it happened: there are new events of entities. The figures are those of the last look. */
  pushed: boolean;
  /** Why no relay tells of it, so that its entities are about a second late; "" where one does, or may do so soon. */
  unheard: string;
}

/** To the panel: there is more of a run. */
export interface RunGrewMessage {
  type: "runGrew";
  growth: RunGrew;
}

/** What evidence weighs; `LocalizeResult.explanation` says it in words. */
export interface LocalizeThresholds {
  /** Bits that a doubling of time counts. */
  time?: number;
  /** Bits by which two sides must surely differ for a difference to be trusted by half. */
  half?: number;
  /** Growth is measured against a place's own time and this share of the whole request's. */
  floor?: number;
  /** Pieces of evidence of time, and of behaviour, that a suspect has at most. */
  pieces?: number;
  /** Requests that are looked at on each side. */
  most?: number;
  /** Bits below which a place is no suspect. */
  least?: number;
  /** Without a reference: the share of requests in major clusters, */
  alpha?: number;
  /** the share of variance that is usual, */
  variance?: number;
  /** and of the threshold beyond which a request is anomalous. */
  confidence?: number;
}

export interface LocalizeParams {
  /** Runs by id, name or folder. */
  suspect: string[];
  /** Empty: what is anomalous in the suspect runs is compared with the rest of them. */
  reference?: string[];
  /** Only requests of this name. */
  request?: string;
  maxSuspects?: number;
  thresholds?: LocalizeThresholds;
}

export interface LocalizeEvidence {
  kind: "work" | "waiting" | "edge" | "instance" | "call" | "error" | "log";
  /** Of the suspect's score, about those that this piece is the reason for. */
  bits: number;
  sentence: string;
  service: string;
  method: string;
  /** "" at a root. */
  caller: string;
  instance: string;
  /** A log's message, or the call that is new or missing. */
  text: string;
  /** ns for work, waiting, edge and instance, else the share of visits; null where nothing is known. */
  before: number | null;
  after: number | null;
  /** Requests. */
  samplesBefore: number;
  samplesAfter: number;
  /** Corrected for the number of pieces. */
  p: number | null;
  /** The example's, */
  run: string;
  /** and its first event, for a slice; null for no example. */
  event: number | null;
  /** When it began in its run, */
  fromNs: number | null;
  /** and ended, for the timeline; null for no example. */
  toNs: number | null;
  location: Location | null;
}

export interface LocalizeSuspect {
  rank: number;
  /** What is suspected: a service, or where there is only one, a function. */
  place: string;
  /** Bits. */
  score: number;
  /** What the strongest evidence is of. */
  kind: "method" | "edge" | "instance" | "log";
  sentence: string;
  service: string;
  method: string;
  caller: string;
  /** "" unless one instance is slower than its like. */
  instance: string;
  /** From when on, after the first suspect request, there is clearly more evidence than in all; null for all along. */
  sinceNs: number | null;
  evidence: LocalizeEvidence[];
  location: Location | null;
}

/** Requests with one sequence of calls, when there is no reference. */
export interface LocalizeCluster {
  requests: number;
  calls: number;
  /** Requests that have another, rarer sequence. */
  merged: number;
  method: "pca" | "robust z" | "none";
  why: string;
  anomalous: number;
}

export interface LocalizeResult {
  suspect: RunRef[];
  reference: RunRef[];
  sentence: string;
  /** How suspects are ranked, in plain words. */
  explanation: string;
  thresholds: LocalizeThresholds;
  requestsSuspect: number;
  requestsReference: number;
  suspects: LocalizeSuspect[];
  hiddenSuspects: number;
  /** The largest first. */
  clusters: LocalizeCluster[];
  hiddenClusters: number;
  /** A sentence when there is nothing to compare, with what to do. */
  message: string;
}

export interface RecogniseParams {
  /** A line, without escape sequences. */
  text: string;
}

export interface RecognisedLine {
  /** Where in the line the link stands, in UTF-16 units. */
  begin: number;
  end: number;
  target: Target;
  run: string;
  /** The event, in words. */
  title: string;
}

export interface RecogniseResult {
  /** One, or none when no run wrote it. */
  lines: RecognisedLine[];
}

export type ViewsParams = Record<string, never>;

/** A module in `.clew/views`. */
export interface ViewFile {
  /** Its file's name, `calls.js`. */
  name: string;
  /** Another one whenever the file is another one. */
  version: string;
}

export interface ViewsResult {
  /** Those that may be loaded. */
  views: ViewFile[];
  /** Why some are not, "" when all are. */
  message: string;
}

export interface SqlParams {
  /** A SELECT over the tables of `docs/store.md`. */
  statement: string;
  run?: string;
  /** What each ? in the statement stands for. */
  parameters?: string[];
  maxRows?: number;
}

export interface SqlResult {
  run: RunRef;
  columns: string[];
  /** Values that JSON does not have are texts. */
  rows: ((string | number | boolean | null)[])[];
  hiddenRows: number;
}

export interface CriticalPathParams {
  target: Target;
  run?: string;
  /** As in a slice, without "event". */
  level?: string;
  maxSegments?: number;
}

export interface PathSegment {
  label: string;
  process: string;
  strand: string;
  selfNs: number;
  waitNs: number;
  slackNs: number;
  startNs: number;
  endNs: number;
  nodeId: string;
  location: Location | null;
  /** How much sooner the whole would end if the segment's own work took 10 % less. */
  savingNs: number;
  /** "" when the run has only one, or for a joint segment of several. */
  machine: string;
  /** What its clock and that of the segment before were put together by, "" on one machine. */
  clock: string;
  /** Can the clocks be off by more than the time it took to come from the segment before? */
  uncertain: boolean;
  /** Places in the answer's `gaps` of those inside it: its time was not idle, nor known to be its own work. */
  gaps: number[];
  /** What its wait was for, in a word: "lock", "queue", "network", …; "" where it did not wait, or for a joint segment. */
  waitFor: string;
  /** Who ended the wait, in words. */
  waitWhy: string;
  /** Its first event; null for a joint segment. */
  event: number | null;
}

/** How much longer the work of a label could take before the path's end comes later. */
export interface PathSlack {
  label: string;
  /** All that it worked until the end, on the path and beside it. */
  workNs: number;
  /** By how much any one stretch of that could be longer: 0 for what is on the path; null when nothing waited for it. */
  slackNs: number | null;
  location: Location | null;
}

/** What the path waited for as well, which was done sooner. */
export interface PathBranch {
  label: string;
  endNs: number;
  /** When the path went on. */
  joinedNs: number;
  slackNs: number;
  event: number;
}

export interface CriticalPathResult {
  run: RunRef;
  title: string;
  level: string;
  levels: string[];
  /** In the order of time. Where there are too many, neighbours that are short become one segment without a node. */
  segments: PathSegment[];
  /** How many segments such joint ones stand for. */
  hiddenSegments: number;
  totalNs: number;
  message: string;
  /** What is missing, while the path lasts, of the threads and tasks that it goes through; in the order of time. */
  gaps: MissingEvents[];
  /** Shorter ones that were left out. */
  hiddenGaps: number;
  processes: ProcessRef[];
  /** Empty when there is only one. */
  machines: MachineRef[];
  /** Labels that worked meanwhile, those of the path included; the least slack first. */
  beside: PathSlack[];
  hiddenBeside: number;
  /** Those that nearly are on the path first. */
  branches: PathBranch[];
  hiddenBranches: number;
  /** The path's last event. */
  endEvent: number;
}

export interface WhatIfParams {
  target: Target;
  /** Whose work is faster, of the path's level. */
  label: string;
  /** How much, at most 100; slower below 0. */
  percent: number;
  run?: string;
  level?: string;
}

export interface WhatIfResult {
  label: string;
  percent: number;
  /** Of the path as it was recorded. */
  totalNs: number;
  afterNs: number;
  savedNs: number;
  /** The label's work up to the path's end. */
  workNs: number;
}

/** `fromNs` and `toNs` are the window that is looked at. */
export interface PatternTimesParams {
  run?: string;
  strand?: string;
  level?: string;
  calls?: number;
  times?: number;
  widest?: number;
  maxPatterns?: number;
  pattern?: string;
  fromNs?: number;
  toNs?: number;
  maxStretches?: number;
  /** Into so many equal parts the window, and the whole run, are cut: as many as there are pixels. */
  maxParts?: number;
}

/** One thread or task in the window, part by part. */
export interface PatternLane {
  /** Its number in the run. */
  strand: number;
  process: string;
  name: string;
  /** Occurrences that are in the window in part or whole. */
  count: number;
  /** How many begin in each part, */
  begun: number[];
  /** and how long they are under way in it. */
  ns: number[];
}

/** A pattern in the window. */
export interface PatternInside {
  id: string;
  /** Occurrences that are in it in part or whole, */
  count: number;
  /** what they take there, */
  ns: number;
  /** and how much that is of all threads' and tasks' time there. */
  share: number;
}

export interface PatternTimesResult {
  run: RunRef;
  pattern: string;
  fromNs: number;
  toNs: number;
  /** Of the whole run, which begins at 0. */
  endNs: number;
  /** Of equal parts of the whole run, how long the pattern is under way, in all threads and tasks together. */
  whole: number[];
  /** Those with most of its time in the window first. */
  lanes: PatternLane[];
  /** More threads and tasks in which it occurs in the window. */
  hiddenLanes: number;
  /** Of all patterns that were asked for, in their order, those that occur in the window. */
  inside: PatternInside[];
}

/** Which one: by its number, or the one nearest to a time in one thread or task. */
export interface PatternOccurrenceParams {
  run?: string;
  strand?: string;
  level?: string;
  calls?: number;
  times?: number;
  widest?: number;
  maxPatterns?: number;
  pattern?: string;
  fromNs?: number;
  toNs?: number;
  maxStretches?: number;
  /** In the order of time, from 0; */
  number?: number;
  /** or the number of the thread or task in the run, */
  strandNumber?: number;
  atNs?: number;
}

export interface PatternOccurrence {
  /** In the order of time, from 0. */
  number: number;
  strand: number;
  process: string;
  name: string;
  fromNs: number;
  toNs: number;
  /** With which it begins. */
  event: number;
  location: Location | null;
}

export interface PatternOccurrenceResult {
  run: RunRef;
  pattern: string;
  count: number;
  /** None where the thread or task has none. */
  occurrence: PatternOccurrence | null;
}

/** A node of the diagram: a function's beginning or end. */
export interface PatternState {
  label: string;
  what: "entered" | "resumed" | "returned" | "raised" | "suspended" | "unfinished";
  count: number;
  /** How often within occurrences of the pattern. */
  inside: number;
  /** Until the next state, summed. */
  ns: number;
  /** Of the time of all strands. */
  share: number;
  location: Location | null;
}

/** An edge of the diagram: one state came right after another. */
export interface PatternMove {
  /** Place in `states`. */
  source: number;
  target: number;
  count: number;
  /** How many of these within occurrences of the pattern. */
  inside: number;
}

export interface PatternDiagram {
  run: RunRef;
  pattern: string;
  /** Those of the pattern, and of the others those with the most time. */
  states: PatternState[];
  hiddenStates: number;
  moves: PatternMove[];
  /** Rarer ones that were left out. */
  hiddenMoves: number;
}

export interface PatternsParams {
  run?: string;
  /** Only threads and tasks whose name, `process / strand`, has this in it; "" for all. */
  strand?: string;
  /** function, class, module, component, or the spec's. */
  level?: string;
  /** A pattern has at least so many calls, */
  calls?: number;
  /** occurs at least so often, */
  times?: number;
  /** and has at most so many calls side by side. */
  widest?: number;
  maxPatterns?: number;
  /** Which one is looked at closer, by `PatternRow.id`; "" for the first row's. */
  pattern?: string;
  /** Stretches from here on; since the run's start, */
  fromNs?: number;
  /** up to here; 0 for the end. */
  toNs?: number;
  /** Of each pattern. What is nearer to each other than that allows becomes one. */
  maxStretches?: number;
}

export interface PatternStrand {
  process: string;
  strand: string;
  events: number;
  fromNs: number;
  toNs: number;
}

/** Equal calls in a row; what they call stands below, one deeper. */
export interface PatternLine {
  depth: number;
  label: string;
  repeats: number;
  /** In one of them, itself included. */
  calls: number;
  /** It went on after it was suspended, rather than being called. */
  resumed: boolean;
  end: "returned" | "raised" | "suspended" | "unfinished";
  /** Of all calls that are like it, in patterns or not. */
  meanNs: number;
  /** Where one of them begins. */
  event: number;
  location: Location | null;
}

/** Occurrences near each other. */
export interface PatternStretch {
  fromNs: number;
  toNs: number;
  count: number;
  /** Place in the answer's `strands`. */
  strand: number;
}

export interface PatternRow {
  /** The same for the same pattern in every run. */
  id: string;
  title: string;
  /** In one occurrence, with those that are called. */
  calls: number;
  /** How many side by side. */
  width: number;
  /** Occurrences, at any depth. */
  count: number;
  /** What its calls took in all, without what is between those that are side by side. */
  totalNs: number;
  /** Of that what was spent in recorded code, not waiting. */
  selfNs: number;
  meanNs: number;
  /** Of the time of all strands. Patterns lie within others, so shares add up to more than 1. */
  share: number;
  /** In how many it occurs. */
  strands: number;
  firstNs: number;
  lastNs: number;
  firstEvent: number;
  /** Calls in it that end by an exception. */
  raised: number;
  outline: PatternLine[];
  /** There is more than the outline shows. */
  hiddenLines: boolean;
  stretches: PatternStretch[];
  location: Location | null;
}

/** One pattern followed another in what one call calls, or a strand does; nothing that is a pattern was between. */
export interface PatternSuccession {
  before: string;
  after: string;
  count: number;
}

export interface PatternsResult {
  run: RunRef;
  level: string;
  levels: string[];
  sentence: string;
  /** In plain words, what counts as a pattern. */
  explanation: string;
  /** Those that were looked at, the longest first. */
  strands: PatternStrand[];
  hiddenStrands: number;
  events: number;
  /** The time of all strands together. */
  spanNs: number;
  /** What takes the most time first. */
  patterns: PatternRow[];
  hiddenPatterns: number;
  /** The most frequent first. */
  successions: PatternSuccession[];
  /** The one that was asked for, or the first; "" for none. */
  pattern: string;
  fromNs: number;
  toNs: number;
  /** A sentence when there is nothing to show, with what to do. */
  message: string;
}

/** What could be recorded, the likeliest first. */
export interface RecordableParams {
  /** The file that the user looks at, for its tests and for itself as a program. */
  path?: string;
  /** Where its cursor stands, from 1; 0 for nowhere. */
  line?: number;
  /** A command that the user typed, in a shell's words; then it alone is the answer. */
  command?: string;
  /** Only what is of this kind: "test" for the one at the cursor, "file" for the file as a program … */
  kind?: string;
  /** What to record by, instead of what is configured. */
  spec?: string;
}

export interface Recordable {
  name: string;
  /** What is run, in the user's words; not clew's own. */
  detail: string;
  kind: "configured" | "test" | "file" | "script" | "package" | "tests" | "typed";
  /** The whole command, clew's words included, to be run as it stands, by no shell. */
  command: string[];
  cwd: string;
  /** `NAME=VALUE`, on top of the user's own. */
  environment: string[];
}

export interface RecordableResult {
  recordables: Recordable[];
  /** What is wrong with what was asked, or with the settings. */
  message: string;
}

/** How far is the recording that this process began? */
export interface ProgressParams {
  /** A pid, of `clew run` or of pytest; 0 for the newest recording that goes on. */
  launcher?: number;
  /** Also read what is recorded so far. What is read is kept for ten times as long as reading took. */
  look?: boolean;
}

export interface ProgressResult {
  /** None before it has begun. */
  run: RunRef | null;
  elapsedNs: number;
  /** Of its records on disk. */
  bytes: number;
  processes: number;
  /** The fields below say what was recorded when the run was last looked at. */
  looked: boolean;
  events: number;
  /** Log lines of level ERROR and above. */
  errors: number;
  warnings: number;
  /** The function with the most time of its own. */
  slowest: string;
  slowestNs: number;
}

export interface RunsParams {
  /** Also what is recorded now in other workspaces of this machine: that takes a look at all of the user's processes. */
  elsewhere?: boolean;
}

export interface RunsResult {
  workspace: string;
  runs: RunRef[];
  selected: string;
  /** The id of the run that the editor compares with, the newest of several; "" for none. */
  baseline: string;
  /** What it was chosen by: a run's name, or a revision. */
  baselineName: string;
  /** Their ids are their folders, and their names have the workspace. */
  elsewhere: RunRef[];
}

export interface SelectRunParams {
  run: string;
}

/** Compares with this run, or this revision's test sessions, from now on; "" with what the settings name, if they do. */
export interface ChooseBaselineParams {
  run: string;
}

/** Which of a slice's functions is the cursor in? */
export interface LocateParams {
  location: Location;
  run?: string;
}

export interface LocateResult {
  /** `module:qualname`, empty when the line belongs to no recorded function. */
  function: string;
  location: Location | null;
}

/** Where does a recorded place stand in the text that the user sees now? */
export interface PresentParams {
  location: Location;
  run?: string;
}

export interface PresentResult {
  /** Of what is stale, where it was, or would be. */
  location: Location;
  state: "exact" | "moved" | "stale";
  /** Why it is stale. */
  message: string;
}

/**
 * Lines around a place, for the browser, which has no editor beside it. Only files that the run recorded, and source
 * and log files of the workspace, are shown.
 */
export interface SourceParams {
  location: Location;
  context?: number;
  run?: string;
}

export interface SourceResult {
  path: string;
  firstLine: number;
  lines: string[];
  message: string;
}

/** A place in source. `line` counts from 1, as people and tracebacks do; the language server converts. */
export interface Location {
  /** Absolute, in the file system of the server. */
  path: string;
  line: number;
  endLine?: number;
}

export interface RunRef {
  id: string;
  name: string;
  /** Wall-clock milliseconds since 1970. */
  started: number;
  finished: boolean;
  exitCode: number | null;
  command: string;
  problems: string[];
  /** The revision of the source that a test session is of, in short. */
  commit: string;
}

/** A stretch of a thread or task of which events are missing, so that nothing is known of it: it is not idle. */
export interface MissingEvents {
  process: string;
  strand: string;
  /** Since the run's start, as `toNs`. */
  fromNs: number;
  toNs: number;
  /** How many events, or calls of `function`; null when that is not known. */
  lost: number | null;
  /** `module:qualname`, when only its calls are missing; "" when all that the strand did is. */
  function: string;
  why: string;
  /** All of it as a sentence. */
  text: string;
}

/** A machine of the run, and what its clock was corrected by. */
export interface MachineRef {
  name: string;
  /** All of it in words. */
  clock: string;
  offsetNs: number;
  /** What was added to each nanosecond besides. */
  rate: number;
  /** How far below the true offset can be; null when no message bounds it. */
  belowNs: number | null;
  aboveNs: number | null;
  /** How many the correction was found from. */
  messages: number;
}

export interface ProcessRef {
  name: string;
  /** "" when the run has only one. */
  machine: string;
}

/**
 * Where a slice starts: exactly one of the five is given, else the last error of a test that failed, or the newest error
 * line.
 */
export interface Target {
  event?: number | null;
  /** Part of a log message. */
  text?: string | null;
  /** A line of source (the last call of its function) or of a log file (the event that wrote it). */
  location?: Location | null;
  /** `module:qualname`, all its calls. */
  function?: string | null;
  /** A whole line of a log, as an output channel or a terminal shows it; its time tells the run. */
  line?: string | null;
}

/** What stands instead of a result when a request cannot be answered: a sentence for the user, never a traceback. */
export interface ErrorResult {
  message: string;
}

export interface SliceParams {
  target: Target;
  run?: string;
  direction?: "backward" | "forward";
  /** An aggregation level: event, function, class, module, component, task, thread, process, machine, or the spec's. */
  level?: string;
  maxNodes?: number;
}

export interface GraphNode {
  id: string;
  label: string;
  detail: string;
  /** Process and strand, for grouping. */
  lane: string;
  process: string;
  /** call, log, state, send, receive, request, … */
  kind: string;
  events: number;
  calls: number;
  selfNs: number;
  totalNs: number;
  /** Since the run's start. */
  firstNs: number;
  lastNs: number;
  location: Location | null;
  root: boolean;
  onCriticalPath: boolean;
  onChain: boolean;
  firstEvent: number;
  /** "" when the run has only one. */
  machine: string;
  /** Places in the answer's `gaps` of those that its events lie beside. */
  gaps: number[];
}

export interface GraphEdge {
  source: string;
  target: string;
  kind: "call" | "use" | "sync" | "state" | "next";
  channel: string;
  count: number;
  latencyNs: number;
  onCriticalPath: boolean;
  onChain: boolean;
  /** What the clocks of its two ends were put together by, "" on one machine. */
  clock: string;
  /** Can the clocks be off by more than the time between the ends? */
  uncertain: boolean;
  /** Places in the answer's `gaps` of those that a "next" edge passes. */
  gaps: number[];
}

/** One line of "why": an event, and the edge that leads from its cause (the next step) to it. */
export interface ChainStep {
  event: number;
  title: string;
  detail: string;
  process: string;
  strand: string;
  /** Since the run's start. */
  timeNs: number;
  /** How the previous (later) step depends on this one: "", "use", "sync", "state", "scope". */
  edge: string;
  channel: string;
  key: string;
  otherCauses: number;
  nodeId: string;
  location: Location | null;
  /** "" when the run has only one. */
  machine: string;
  /** What its clock and that of the step before were put together by, "" on one machine. */
  clock: string;
  /** Can the clocks be off by more than the time between this step and what depends on it? */
  uncertain: boolean;
  /** What is missing on the way from here back to the next step. */
  gaps: MissingEvents[];
  /** How many more there are. */
  hiddenGaps: number;
}

export interface Numbers {
  events: number;
  eventsInRun: number;
  edges: number;
  processes: number;
  strands: number;
  elapsedMs: number;
}

export interface SliceResult {
  run: RunRef;
  title: string;
  direction: string;
  level: string;
  levels: string[];
  nodes: GraphNode[];
  edges: GraphEdge[];
  chain: ChainStep[];
  numbers: Numbers;
  /** Nodes that were left out because of `maxNodes`; the panel says so and can ask for more. */
  hiddenNodes: number;
  /** A sentence when there is nothing to show, with what to do. */
  message: string;
  /** What is missing beside the slice's events, so that it may be larger; in the order of time. */
  gaps: MissingEvents[];
  /** Shorter ones that were left out. */
  hiddenGaps: number;
  /** Those of the nodes and the chain. */
  processes: ProcessRef[];
  /** Empty when there is only one. */
  machines: MachineRef[];
}

export interface TimelineParams {
  run?: string;
  /** Only threads and tasks whose name, `process / strand`, has this in it; "" for all. */
  strand?: string;
  /** What is to be shown first, since the run's start, */
  fromNs?: number;
  /** up to here; 0 for the end. The panel's own: an answer is of the whole run. */
  toNs?: number;
  maxStrands?: number;
}

export interface TimelineProcess {
  /** What strands and lanes name it by. */
  process: number;
  name: string;
  /** "" when the run has only one. */
  machine: string;
  /** How many it has, also of those that are left out. */
  strands: number;
}

export interface TimelineStrand {
  /** What tiles name it by. */
  strand: number;
  process: number;
  name: string;
  /** thread or task. */
  kind: string;
  /** How deep its calls nest; 0 when none was recorded. */
  depth: number;
  events: number;
  /** The share of its time in which it was in a recorded call that was not suspended. */
  busy: number;
  fromNs: number;
  toNs: number;
}

export interface TimelineFunction {
  /** What tiles name it by. */
  site: number;
  label: string;
  location: Location | null;
}

/** Where events of a strand are missing. */
export interface TimelineGap {
  /** As `TimelineStrand.strand`; -1 for one that is not shown. */
  strand: number;
  missing: MissingEvents;
}

export interface TimelineResult {
  run: RunRef;
  processes: TimelineProcess[];
  /** Process by process, threads before tasks, each kind in the order in which they began. */
  strands: TimelineStrand[];
  /** Those with the fewest events were left out. */
  hiddenStrands: number;
  events: number;
  fromNs: number;
  toNs: number;
  /** Each value of `activity` is of 2^scale ns, from `fromNs` on. */
  scale: number;
  /** How many threads and tasks were in a recorded call, on average. */
  activity: number[];
  gaps: TimelineGap[];
  hiddenGaps: number;
  /** Those that have the most time first. */
  functions: TimelineFunction[];
  hiddenFunctions: number;
  /** A sentence when there is nothing to show, with what to do. */
  message: string;
  /** Those that there are tiles of; empty: of every one. A report has a few. */
  scales: number[];
}

/** Some rows of a strand: depths from `depth` on. Without a strand, all of a process as one row. */
export interface TimelineLane {
  strand?: number;
  depth?: number;
  depths?: number;
  process?: number;
}

export interface TimelineTileParams {
  run: string;
  lanes: TimelineLane[];
  /** A bucket is 2^scale ns; a tile is 512 of them. */
  scale: number;
  /** Tiles are counted from the run's start: this one begins at 512 · 2^scale · first ns. */
  first: number;
  /** So many side by side. */
  tiles?: number;
}

export interface TimelineTileResult {
  run: string;
  scale: number;
  first: number;
  tiles: number;
  /** How many of those that were asked for are in the answer: no more than fit into it. */
  lanes: number;
  /**
   * Base64: per row and bucket 16 bits, little-endian. 0 is nothing, else 1 + a place in `functions`, and 2^15 where the call
   * is suspended. After all of them a byte each: how much of the bucket is filled, of 255.
   */
  cells: string;
  /** Base64: bars of at least 16 buckets, 24 bytes each: begin and end (ns, 64 bits), row and cell (32 bits), as above. */
  named: string;
  /** Their sites. */
  functions: number[];
  /** Those of them that are not among the functions of `TimelineResult`. */
  unknown: TimelineFunction[];
}

export interface TimelineArrowsParams {
  run: string;
  /** Only between these. */
  strands: number[];
  fromNs: number;
  toNs: number;
  most?: number;
}

/** A cause in one strand, its effect in another. */
export interface TimelineArrow {
  /** Event. */
  source: number;
  target: number;
  sourceStrand: number;
  targetStrand: number;
  sourceDepth: number;
  targetDepth: number;
  sourceNs: number;
  targetNs: number;
  channel: string;
}

export interface TimelineArrowsResult {
  /** The longest first. */
  arrows: TimelineArrow[];
  /** How many more there are, about. */
  hidden: number;
}

export interface TimelineCallParams {
  run: string;
  strand: number;
  depth: number;
  ns: number;
  /** Of the calls so near, the one that takes longest; 0: the one that runs then. */
  slackNs?: number;
  /** From the call there to another: beside it, the first that it makes, the one that made it. */
  move?: "at" | "next" | "previous" | "into" | "out";
}

export interface TimelineCall {
  strand: number;
  depth: number;
  /** The call's beginning, or where it went on after it was suspended. */
  event: number;
  resumed: boolean;
  label: string;
  fromNs: number;
  toNs: number;
  /** Without the calls that it makes. */
  selfNs: number;
  process: string;
  strandName: string;
  location: Location | null;
}

export interface TimelineCallResult {
  /** Null where no call is. */
  call: TimelineCall | null;
}

export interface TimelineSearchParams {
  /** In names of functions and in log lines, of whatever case. */
  text: string;
  run?: string;
  /** 1: the next one, -1: the previous one, 0: only how much there is. */
  by?: 0 | 1 | -1;
  /** Where one is: a time, */
  ns?: number;
  /** and the event then; the next one is after both. */
  event?: number;
}

export interface TimelineMatch {
  /** From 1, among all calls and log lines that were found, by time. */
  place: number;
  ns: number;
  event: number;
  strand: number;
  /** What begins there, or what wrote the line; null where that was not recorded. */
  call: TimelineCall | null;
  /** The log line; "" for a call. */
  text: string;
}

export interface TimelineSearchResult {
  run: string;
  functions: number;
  calls: number;
  logs: number;
  /** Behind the last one comes the first. */
  match: TimelineMatch | null;
  /** What was not looked through, as in a report. */
  message: string;
}

/** From where, and which way. The walk itself, with what was visited, is kept by whoever walks. */
export interface WalkParams {
  target: Target;
  run?: string;
  step?: "here" | "cause" | "effect" | "previous" | "next" | "out" | "in";
  /** Of several events that lie this way: which, by its place in `WalkWay.ends`. */
  choice?: number;
  /**
   * Where the walk begins of a function's calls, `failed` at the last one that an exception ended; without one, where the
   * target's view would begin.
   */
  pick?: "" | "last" | "first" | "slowest" | "failed";
}

/** An event that one step leads to. */
export interface WalkEnd {
  event: number;
  title: string;
  /** use, sync, state; call or scope for what is around or inside; next for the order in a thread or task. */
  edge: string;
  channel: string;
  /** What the step to it means. */
  sentence: string;
  /** As of `GraphNode`. */
  kind: string;
  process: string;
  strand: string;
  /** Since the run's start. */
  timeNs: number;
  /** Is it what the chain of why names? */
  onChain: boolean;
  location: Location | null;
}

/** What lies in one direction. */
export interface WalkWay {
  step: "cause" | "effect" | "previous" | "next" | "out" | "in";
  /** Of all, of which `ends` are the nearest. */
  count: number;
  /** The one that a step takes first. */
  ends: WalkEnd[];
  /** Why there is none, "" where there is one. */
  stop: string;
}

export interface WalkFact {
  name: string;
  value: string;
}

/** All that is known of one event. */
export interface WalkCard {
  event: number;
  title: string;
  /** As of `GraphNode`. */
  kind: string;
  /** Since the run's start. */
  timeNs: number;
  /** Of the call that it begins or ends; null for other events and a call without an end. */
  durationNs: number | null;
  process: string;
  strand: string;
  /** `module:qualname` of the function around it, "" for none. */
  function: string;
  /** A log's message, a value, why events are missing. */
  text: string;
  /** Values and payloads that were recorded with it, and what else there is to say, for a table. */
  facts: WalkFact[];
  location: Location | null;
  /** "" when the run has only one. */
  machine: string;
}

export interface WalkResult {
  run: RunRef;
  /** Null when there is nothing to walk from, of which `message` tells. */
  card: WalkCard | null;
  /** All six directions. */
  ways: WalkWay[];
  /** The step that was asked for. */
  step: string;
  /** Was it made? Otherwise the card is the one where the walk stands, and `sentence` says why it stopped. */
  moved: boolean;
  /** What the step meant; "" for the beginning of a walk. */
  sentence: string;
  /** What lay this way, the nearest; `choice` is the place of the one that was taken. */
  ends: WalkEnd[];
  choice: number;
  /** What the clocks of both ends of the step were put together by, "" on one machine. */
  clock: string;
  /** Can the clocks be off by more than the time between both? */
  uncertain: boolean;
  /** What is missing on the way. */
  gaps: MissingEvents[];
  /** A sentence when there is nothing to show, or about what was chosen of several. */
  message: string;
}

/** Asked again and again: with more answers until there is no more question, then for one step after the other. */
export interface WizardParams {
  analysis: "errors" | "path" | "regression";
  /** Values of choices, in the order of the questions. */
  answers?: string[];
  /** From 0; counts once all questions are answered. */
  step?: number;
}

export interface WizardChoice {
  value: string;
  title: string;
  detail: string;
}

export interface WizardQuestion {
  text: string;
  /** The first is what most would choose. */
  choices: WizardChoice[];
  /** Less likely ones that were left out. */
  hiddenChoices: number;
}

export interface WizardAnswer {
  question: string;
  title: string;
}

export interface WizardRow {
  cells: string[];
  location: Location | null;
  /** Of the step's run. */
  event: number | null;
}

export interface WizardStep {
  title: string;
  /** What was found. */
  sentence: string;
  columns: string[];
  rows: WizardRow[];
  /** The question in Python, as the saved query asks it. */
  code: string;
  /** By id. */
  run: string;
  /** The panel's view that shows it, "" for none. */
  view: string;
  /** What that view is asked. */
  params: unknown;
  /** Those after the last one, that were left out. */
  hiddenRows: number;
}

export interface WizardResult {
  title: string;
  asked: WizardAnswer[];
  /** Null once all are answered; then there is a step. */
  question: WizardQuestion | null;
  step: WizardStep | null;
  /** How many there are. */
  steps: number;
  /** With the last step: the file of the query. */
  saved: string;
  /** Or why there is none. */
  unsaved: string;
  /** Why there is neither, with what to do. */
  message: string;
}

export type HostMessage = OpenMessage | CursorMessage | RunsChangedMessage | RunGrewMessage;

export type PanelMessage = RevealMessage | ReadyMessage;

/**
 * Every request of the panel: over the language server as a custom request, over HTTP as POST /rpc with
 * {"method", "params"}.
 */
export interface Methods {
  "clew/runs": { params: RunsParams; result: RunsResult };
  "clew/selectRun": { params: SelectRunParams; result: RunsResult };
  "clew/chooseBaseline": { params: ChooseBaselineParams; result: RunsResult };
  "clew/slice": { params: SliceParams; result: SliceResult };
  "clew/criticalPath": { params: CriticalPathParams; result: CriticalPathResult };
  "clew/whatIf": { params: WhatIfParams; result: WhatIfResult };
  "clew/diff": { params: DiffParams; result: DiffResult };
  "clew/compare": { params: CompareParams; result: CompareResult };
  "clew/localize": { params: LocalizeParams; result: LocalizeResult };
  "clew/patterns": { params: PatternsParams; result: PatternsResult };
  "clew/patternTimes": { params: PatternTimesParams; result: PatternTimesResult };
  "clew/patternOccurrence": { params: PatternOccurrenceParams; result: PatternOccurrenceResult };
  "clew/patternDiagram": { params: PatternsParams; result: PatternDiagram };
  "clew/aggregate": { params: AggregateParams; result: AggregateResult };
  "clew/timeline": { params: TimelineParams; result: TimelineResult };
  "clew/timelineTile": { params: TimelineTileParams; result: TimelineTileResult };
  "clew/timelineArrows": { params: TimelineArrowsParams; result: TimelineArrowsResult };
  "clew/timelineCall": { params: TimelineCallParams; result: TimelineCallResult };
  "clew/timelineSearch": { params: TimelineSearchParams; result: TimelineSearchResult };
  "clew/entities": { params: EntitiesParams; result: EntitiesResult };
  "clew/entityEvents": { params: EntityEventsParams; result: EntityEventsResult };
  "clew/entity": { params: EntityParams; result: EntityResult };
  "clew/entityOrigin": { params: EntityParams; result: EntityOrigin };
  "clew/walk": { params: WalkParams; result: WalkResult };
  "clew/locate": { params: LocateParams; result: LocateResult };
  "clew/present": { params: PresentParams; result: PresentResult };
  "clew/source": { params: SourceParams; result: SourceResult };
  "clew/views": { params: ViewsParams; result: ViewsResult };
  "clew/sql": { params: SqlParams; result: SqlResult };
  "clew/recognise": { params: RecogniseParams; result: RecogniseResult };
  "clew/recordables": { params: RecordableParams; result: RecordableResult };
  "clew/progress": { params: ProgressParams; result: ProgressResult };
  "clew/wizard": { params: WizardParams; result: WizardResult };
}

export type Method = keyof Methods;

export const METHODS: readonly Method[] = [
  "clew/runs",
  "clew/selectRun",
  "clew/chooseBaseline",
  "clew/slice",
  "clew/criticalPath",
  "clew/whatIf",
  "clew/diff",
  "clew/compare",
  "clew/localize",
  "clew/patterns",
  "clew/patternTimes",
  "clew/patternOccurrence",
  "clew/patternDiagram",
  "clew/aggregate",
  "clew/timeline",
  "clew/timelineTile",
  "clew/timelineArrows",
  "clew/timelineCall",
  "clew/timelineSearch",
  "clew/entities",
  "clew/entityEvents",
  "clew/entity",
  "clew/entityOrigin",
  "clew/walk",
  "clew/locate",
  "clew/present",
  "clew/source",
  "clew/views",
  "clew/sql",
  "clew/recognise",
  "clew/recordables",
  "clew/progress",
  "clew/wizard",
];
