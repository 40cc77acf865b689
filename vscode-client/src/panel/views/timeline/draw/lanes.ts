/**
 * The lanes of a timeline: processes with their threads and tasks, which can be folded, and the visible lanes.
 *
 * Invariant: lanes do not overlap and leave no hole; a folded process is one lane that shows all of its work.
 */
import type { TimelineProcess, TimelineResult, TimelineStrand } from "../../../../shared/protocol";

/** Heights in px. */
export const HEAD = 22;
export const ROW = 16;
export const SPACE = 4;
/** Number of rows that need little scrolling: further processes start folded. */
const OPENED_ROWS = 80;

export interface ProcessLane {
  kind: "process";
  top: number;
  height: number;
  process: TimelineProcess;
  folded: boolean;
}

export interface StrandLane {
  kind: "strand";
  top: number;
  height: number;
  strand: TimelineStrand;
  /** How many of its depths have a row. */
  rows: number;
  folded: boolean;
}

export type Lane = ProcessLane | StrandLane;

/** What is folded: processes and strands by number. */
export interface Folded {
  processes: ReadonlySet<number>;
  strands: ReadonlySet<number>;
}

/** The processes that begin folded: those for which there is no room. The first one never is, nor any where `all` is asked for. */
export function foldedAtFirst(result: TimelineResult, all: boolean): Folded {
  let room = OPENED_ROWS;
  const folded = new Set<number>();
  result.processes.forEach(({ process }, place) => {
    const rows = result.strands.reduce((sum, one) => sum + (one.process === process ? Math.max(one.depth, 1) : 0), 0);
    if (place > 0 && rows > room && !all) folded.add(process);
    else room -= rows;
  });
  return { processes: folded, strands: new Set() };
}

/** With a lane unfolded that was folded, or the other way round. */
export function toggleFold({ processes, strands }: Folded, lane: Lane): Folded {
  const other = (set: ReadonlySet<number>, number: number): ReadonlySet<number> => {
    const without = new Set(set);
    return without.delete(number) ? without : new Set([...set, number]);
  };
  return lane.kind === "process"
    ? { processes: other(processes, lane.process.process), strands }
    : { processes, strands: other(strands, lane.strand.strand) };
}

export function lanes(result: TimelineResult, folded: Folded): Lane[] {
  const found: Lane[] = [];
  let top = 0;
  for (const process of result.processes) {
    const isFolded = folded.processes.has(process.process);
    found.push({ kind: "process", top, height: HEAD, process, folded: isFolded });
    top += HEAD;
    if (isFolded) continue;
    for (const strand of result.strands) {
      if (strand.process !== process.process) continue;
      const closed = folded.strands.has(strand.strand);
      const rows = closed ? Math.min(1, strand.depth) : strand.depth;
      const height = Math.max(rows, 1) * ROW + SPACE;
      found.push({ kind: "strand", top, height, strand, rows, folded: closed });
      top += height;
    }
  }
  return found;
}

export function heightOf(all: readonly Lane[]): number {
  const last = all.at(-1);
  return last ? last.top + last.height : 0;
}

/** The lanes that lie in a part of the height. */
export function seen(all: readonly Lane[], top: number, height: number): Lane[] {
  return all.filter((lane) => lane.top < top + height && lane.top + lane.height > top);
}

export interface Point {
  lane: Lane;
  /** The row of a strand, -1 outside of it. */
  depth: number;
}

export function laneAt(all: readonly Lane[], y: number): Point | undefined {
  const lane = all.find((one) => one.top <= y && y < one.top + one.height);
  if (!lane) return undefined;
  const depth = lane.kind === "strand" ? Math.floor((y - lane.top) / ROW) : -1;
  return { lane, depth: lane.kind === "strand" && depth < lane.rows ? depth : -1 };
}

/** Where a strand's row is from above, or its process' where that is folded; undefined where neither is there. */
export function topOf(all: readonly Lane[], strand: TimelineStrand, depth: number): number | undefined {
  const own = all.find((lane) => lane.kind === "strand" && lane.strand.strand === strand.strand);
  if (own?.kind === "strand") return own.top + Math.min(depth, Math.max(own.rows - 1, 0)) * ROW;
  return all.find((lane) => lane.kind === "process" && lane.process.process === strand.process)?.top;
}

/** Where one goes from a strand to the one below (1) or above (-1). */
export function strandBeside(all: readonly Lane[], strand: number, by: 1 | -1): TimelineStrand | undefined {
  const own = all.flatMap((lane) => (lane.kind === "strand" && lane.rows > 0 ? [lane.strand] : []));
  const at = own.findIndex((one) => one.strand === strand);
  return at < 0 ? own[by === 1 ? 0 : own.length - 1] : own[at + by];
}
