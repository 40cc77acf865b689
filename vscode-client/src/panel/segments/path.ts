/**
 * Other forms of a critical path: over time by thread and task, by label, and with parallel work.
 *
 * Invariant: lanes and groups contain each segment once and have the same sums as the segments.
 */
import { groupBy } from "../../shared/group";
import type { CriticalPathResult, Location, PathSegment } from "../../shared/protocol";
import { shortProcesses, withMachines } from "../ui/text/processNames";
import { matcher } from "../ui/searchMatch";

/** So many threads and tasks have a lane of their own; the last lane is of all others. */
export const MOST_LANES = 12;
const OTHERS = "others";

export interface Piece {
  segment: PathSegment;
  /** Shares of the whole time, waiting before working. */
  from: number;
  work: number;
  to: number;
}

export interface PathLane {
  name: string;
  pieces: Piece[];
}

export interface HandOver {
  from: number;
  to: number;
  /** Share of the whole time. */
  at: number;
}

export interface PathLanes {
  lanes: PathLane[];
  handOvers: HandOver[];
}

/** In the order in which the path comes to them; those with the least of it are the last lane, if there are too many. */
export function pathLanes(result: CriticalPathResult, most = MOST_LANES): PathLanes {
  const { segments } = result;
  const begin = Math.min(...segments.map((one) => one.startNs));
  const span = Math.max(1, Math.max(...segments.map((one) => one.endNs)) - begin);
  const processes = withMachines(shortProcesses(segments.map((one) => one.process)), result.processes);
  const name = ({ process, strand }: PathSegment): string =>
    strand === "" ? OTHERS : `${processes.get(process) ?? process} / ${strand}`;
  const lengths = groupBy(segments, name);
  const longest = [...lengths]
    .map(([lane, those]) => ({ lane, ns: those.reduce((sum, one) => sum + one.selfNs + one.waitNs, 0) }))
    .sort((a, b) => b.ns - a.ns);
  const own = new Set(longest.length <= most ? lengths.keys() : longest.slice(0, most - 1).map((one) => one.lane));
  const lanes = new Map<string, PathLane>();
  const ordered = segments.map((segment) => {
    const lane = own.has(name(segment)) ? name(segment) : OTHERS;
    if (!lanes.has(lane)) lanes.set(lane, { name: lane, pieces: [] });
    const [from, to] = [(segment.startNs - begin) / span, (segment.endNs - begin) / span];
    const both = segment.selfNs + segment.waitNs;
    const work = both > 0 ? from + ((to - from) * segment.waitNs) / both : from;
    lanes.get(lane)?.pieces.push({ segment, from, work, to });
    return { lane, from };
  });
  const last = lanes.get(OTHERS);
  if (last && lanes.delete(OTHERS)) lanes.set(OTHERS, last);
  const place = new Map([...lanes.keys()].map((lane, at) => [lane, at]));
  const handOvers = ordered.slice(1).flatMap(({ lane, from }, at): HandOver[] => {
    const before = ordered[at]?.lane ?? lane;
    return before === lane ? [] : [{ from: place.get(before) ?? 0, to: place.get(lane) ?? 0, at: from }];
  });
  return { lanes: [...lanes.values()], handOvers };
}

export interface PathGroup {
  label: string;
  /** Segments on the path; 0 if parallel to it. */
  count: number;
  selfNs: number;
  waitNs: number;
  /** Of the whole path, 0 to 1. */
  share: number;
  /** All work up to the end. */
  workNs: number;
  slackNs: number | null;
  location: Location | null;
  /** What its waits were for, the longest first. */
  waits: { word: string; ns: number }[];
}

/** One row for each label on the path, the longest first; with `beside` the labels parallel to it, the least slack first. */
export function pathGroups(result: CriticalPathResult, beside: boolean): PathGroup[] {
  const known = new Map(result.beside.map((one) => [one.label, one]));
  const onPath = groupBy(result.segments, (one) => one.label);
  const total = Math.max(1, result.totalNs);
  if (beside) {
    return result.beside
      .filter((one) => !onPath.has(one.label))
      .map(({ label, workNs, slackNs, location }) => ({
        label, count: 0, selfNs: 0, waitNs: 0, share: 0, workNs, slackNs, location, waits: [],
      })); // prettier-ignore
  }
  const groups = [...onPath].map(([label, those]): PathGroup => {
    const sum = (value: (one: PathSegment) => number): number => those.reduce((all, one) => all + value(one), 0);
    const [selfNs, waitNs] = [sum((one) => one.selfNs), sum((one) => one.waitNs)];
    const waits = [...groupBy(those, (one) => one.waitFor)]
      .map(([word, waiting]) => ({ word, ns: waiting.reduce((all, one) => all + one.waitNs, 0) }))
      .filter(({ word, ns }) => word !== "" && ns > 0)
      .sort((a, b) => b.ns - a.ns);
    const about = known.get(label);
    return {
      label,
      count: those.length,
      selfNs,
      waitNs,
      share: (selfNs + waitNs) / total,
      workNs: about?.workNs ?? selfNs,
      slackNs: about ? about.slackNs : 0,
      location: about?.location ?? those.find((one) => one.location)?.location ?? null,
      waits,
    };
  });
  return groups.sort((a, b) => b.selfNs + b.waitNs - a.selfNs - a.waitNs);
}

/** All that was waited for, by its word, the longest first. */
export function waitsOf(result: CriticalPathResult): { word: string; ns: number }[] {
  return [...groupBy(result.segments, (one) => one.waitFor)]
    .map(([word, those]) => ({ word, ns: those.reduce((sum, one) => sum + one.waitNs, 0) }))
    .filter(({ word, ns }) => word !== "" && ns > 0)
    .sort((a, b) => b.ns - a.ns);
}

/** Whose work can be made faster: what is on the path first, by its work. */
export function whatIfLabels(result: CriticalPathResult): string[] {
  const onPath = pathGroups(result, false).filter((one) => one.selfNs > 0 && one.count > 0);
  const known = new Set(result.beside.map((one) => one.label));
  const first = onPath.sort((a, b) => b.selfNs - a.selfNs).map((one) => one.label);
  const others = [...result.beside].sort((a, b) => b.workNs - a.workNs).map((one) => one.label);
  return [...new Set([...first.filter((label) => known.has(label)), ...others])];
}

/** Those that have all words searched for: in their label, where they ran, or what they waited for. */
export function filterSegments(segments: readonly PathSegment[], text: string): PathSegment[] {
  const matches = matcher(text);
  return segments.filter((one) => matches(`${one.label} ${one.process} ${one.strand} ${one.waitFor}`));
}

export function filterGroups(groups: readonly PathGroup[], text: string): PathGroup[] {
  const matches = matcher(text);
  return groups.filter((one) => matches([one.label, ...one.waits.map(({ word }) => word)].join(" ")));
}

/** The entries of a path's list that can be selected and searched: each label once, for all of its segments. */
export function pathChoices(result: CriticalPathResult, list: "order" | "label" | "beside", text: string): string[] {
  if (list === "order") return [...new Set(filterSegments(result.segments, text).map((one) => one.nodeId))];
  return filterGroups(pathGroups(result, list === "beside"), text).map((one) => one.label);
}
