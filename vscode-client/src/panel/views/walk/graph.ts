/**
 * The graph of a walk: the events around each visited one, their positions and their links.
 *
 * Invariant: a drawn node keeps its position. At most `MAX_NODES` nodes are drawn; the oldest are left out first, but never one of the
 * last `MAX_NODES / 2` visited nodes.
 */
import type { WalkEnd, WalkResult } from "../../../shared/protocol";
import { standing, type Walk, type Way } from "../../../shared/walk";
import { type Direction, freeSlot, type Slot, slotKey } from "./pinnedLayout";
import { offset } from "../../ui/text/format";
import { type EdgeKind, makeGraph, type PanelEdge, type PanelGraph, type PanelNode } from "../../graph/model";
import { shortProcesses } from "../../ui/text/processNames";

export const MAX_NODES = 150;
/** Events that a step opens in one direction; the list next to the graph has the others. */
const OPENED: Record<Way, number> = { cause: 3, effect: 3, previous: 1, next: 1, out: 1, in: 1 };
const DIRECTION: Record<Way, Direction> = {
  cause: "left",
  effect: "right",
  previous: "up",
  out: "up",
  next: "down",
  in: "down",
};

export type Found = Pick<WalkEnd, "event" | "title" | "kind" | "process" | "strand" | "timeNs" | "location">;

export interface Link {
  id: string;
  source: number;
  target: number;
  kind: EdgeKind;
  channel: string;
  sentence: string;
}

export interface Known {
  /** The run that the events are of. */
  run: string;
  /** By event, the one found last at the end. */
  events: ReadonlyMap<number, Found>;
  links: ReadonlyMap<string, Link>;
  slots: ReadonlyMap<number, Slot>;
  hidden: number;
}

export function nothingKnown(run: string): Known {
  return { run, events: new Map(), links: new Map(), slots: new Map(), hidden: 0 };
}

/** The known events after a step of the walk. Events of another run are dropped. */
export function learn(before: Known | undefined, { result, visited }: Walk): Known {
  const { card } = result;
  const known = before?.run === result.run.id ? before : nothingKnown(result.run.id);
  if (!card) return known;
  const events = new Map(known.events);
  const links = new Map(known.links);
  const slots = new Map(known.slots);
  const taken = new Set([...slots.values()].map(slotKey));
  const put = (found: Found, anchor: number, way: Way): void => {
    const { event, title, kind, process, strand, timeNs, location } = found;
    events.delete(event); // found again, it is among the last
    events.set(event, { event, title, kind, process, strand, timeNs, location });
    if (slots.has(event)) return;
    const slot = freeSlot(taken, slots.get(anchor) ?? { column: 0, row: 0 }, DIRECTION[way]);
    slots.set(event, slot);
    taken.add(slotKey(slot));
  };
  if (slots.size === 0) {
    slots.set(card.event, { column: 0, row: 0 });
    taken.add(slotKey({ column: 0, row: 0 }));
  }
  put(card, [...known.events.keys()].at(-1) ?? card.event, "next");
  // A choice from the list opens, too.
  for (const way of result.ways) {
    for (const [place, end] of way.ends.entries()) {
      const opened = place < OPENED[way.step] || slots.has(end.event);
      if (!opened) continue;
      put(end, card.event, way.step);
      const link = linkOf(card.event, way.step, end);
      // An edge says more than the order does, and a call more than what encloses.
      if (!links.has(link.id) || links.get(link.id)?.kind === "next") links.set(link.id, link);
    }
  }
  const kept = new Set([card.event, ...visited.slice(-MAX_NODES / 2).map((one) => one.event)]);
  let hidden = known.hidden;
  for (const event of [...events.keys()]) {
    if (events.size <= MAX_NODES) break;
    if (kept.has(event)) continue;
    events.delete(event);
    slots.delete(event);
    hidden += 1;
  }
  for (const [id, link] of links) if (!events.has(link.source) || !events.has(link.target)) links.delete(id);
  return { run: known.run, events, links, slots, hidden };
}

/** Each edge leads from what was first. */
function linkOf(event: number, way: Way, end: WalkEnd): Link {
  const forward = way === "effect" || way === "next" || way === "in";
  const [source, target] = forward ? [event, end.event] : [end.event, event];
  return {
    id: `${source} ${target}`,
    source,
    target,
    kind: end.edge === "scope" ? "call" : (end.edge as EdgeKind),
    channel: end.channel,
    sentence: end.sentence,
  };
}

export function nodeId(event: number): string {
  return `e${event}`;
}

/** As a graph, the path that was walked in it as its chain, numbered. */
export function walkGraph(known: Known, walk: Walk): PanelGraph {
  const steps = new Map<number, number[]>();
  walk.visited.forEach(({ event }, index) => {
    steps.set(event, [...(steps.get(event) ?? []), index + 1]);
  });
  const pairs = walk.visited.slice(1).map((one, index) => [walk.visited[index]?.event ?? -1, one.event] as const);
  const walked = new Set(pairs.flatMap(([a, b]) => [`${a} ${b}`, `${b} ${a}`]));
  const processes = shortProcesses(
    [...known.events.values()].sort((a, b) => a.timeNs - b.timeNs).map((one) => one.process),
  );
  const nodes = [...known.events.values()].map((found): PanelNode => {
    const process = processes.get(found.process) ?? found.process;
    return {
      id: nodeId(found.event),
      label: found.title,
      name: found.title,
      meta: `${offset(found.timeNs)} · ${process} / ${found.strand}`,
      detail: "",
      kind: found.kind,
      process: found.process,
      lane: `${found.process} / ${found.strand}`,
      location: found.location,
      root: found.event === standing(walk),
      onChain: steps.has(found.event),
      onCriticalPath: false,
      steps: steps.get(found.event) ?? [],
      status: "both",
      deltaNs: 0,
      notable: false,
      firstEvent: found.event,
      members: [],
      facts: [],
      gaps: [],
      gapSpans: [],
    };
  });
  const time = (event: number): number => known.events.get(event)?.timeNs ?? 0;
  const edges = [...known.links.values()].map((link): PanelEdge => ({
    id: link.id,
    source: nodeId(link.source),
    target: nodeId(link.target),
    kind: link.kind,
    channel: link.channel,
    count: 1,
    latencyNs: time(link.target) - time(link.source),
    onChain: walked.has(link.id),
    onCriticalPath: false,
    status: "both",
    clock: "",
    uncertain: false,
    gaps: [],
  }));
  return makeGraph(nodes, edges, processes);
}

/** The direction of a key, while the walk is shown. */
export function wayOfKey(key: string): Way | "back" | "forward" | undefined {
  const ways: Record<string, Way | "back" | "forward"> = {
    ArrowLeft: "cause",
    ArrowRight: "effect",
    ArrowUp: "previous",
    ArrowDown: "next",
    o: "out",
    i: "in",
    Backspace: "back",
  };
  return ways[key];
}

/** The ways with more to choose from than one event. */
export function choices(result: WalkResult): { way: Way; count: number; ends: WalkEnd[] }[] {
  return result.ways.filter((way) => way.count > 1).map(({ step, count, ends }) => ({ way: step, count, ends }));
}
