/**
 * Places the calls of large flows across the flow: a lane for each strand, its calls in rows, each row filled along the flow.
 *
 * A row takes a call if all earlier calls of the row have ended when the caller of the call has ended, so the edge of the call has the
 * row to itself. The layout visits each call once; the tree of smaller flows (`crossAxis`) visits calls as often as branches are long.
 *
 * Invariant: no two nodes overlap, in no picture and at no time between two. Lanes do not overlap, and each has exactly the calls of its
 * strand. Edges along the flow pass over no node; edges across it may.
 */
import type { FlowNode } from "./flow";

/** Number of nodes from which a flow is drawn in lanes. */
export const LANES_FROM = 600;
/** Between rows, in which lines of calls that wait pass. */
export const ROW_GAP = 20;
/** At a lane's low side, for its name. */
export const LANE_TITLE = 22;
export const LANE_GAP = 14;

/** The key of a lane and its name. */
export interface Strand {
  id: string;
  name: string;
}

export interface Lane extends Strand {
  /** Across the flow, the title included. */
  low: number;
  high: number;
}

interface Row {
  breadth: number;
  nodes: string[];
  /** The end of its contents in each picture. */
  ends: number[];
}

/**
 * The low side of each node, and the lanes in the order of their first calls.
 *
 * `pictures`: where nodes begin along the flow; the last one has them all.
 */
export function laneLayout(
  nodes: readonly FlowNode[],
  pictures: readonly ReadonlyMap<string, number>[],
  strandOf: ReadonlyMap<string, Strand>,
): { lows: Map<string, number>; lanes: Lane[] } {
  const strands = new Map<string, { strand: Strand; own: Range[] }>();
  for (const range of ranges(nodes, pictures)) {
    const strand = strandOf.get(range.node.id) ?? NOBODY;
    const known = strands.get(strand.id);
    if (known) known.own.push(range);
    else strands.set(strand.id, { strand, own: [range] });
  }
  const lows = new Map<string, number>();
  let low = 0;
  const lanes = [...strands.values()].map(({ strand, own }): Lane => {
    let at = low + LANE_TITLE;
    for (const row of filled(own)) {
      for (const id of row.nodes) lows.set(id, at);
      at += row.breadth + ROW_GAP;
    }
    const lane = { ...strand, low, high: at - ROW_GAP + LANE_GAP };
    low = lane.high + LANE_GAP;
    return lane;
  });
  return { lows, lanes };
}

const NOBODY: Strand = { id: "", name: "" };

/** Of a node, in each picture: where its edge begins and where the node ends; of a picture that does not have it, undefined. */
interface Range {
  node: FlowNode;
  begins: (number | undefined)[];
  ends: (number | undefined)[];
}

function ranges(nodes: readonly FlowNode[], pictures: readonly ReadonlyMap<string, number>[]): Range[] {
  const depths = new Map(nodes.map((node) => [node.id, node.depth]));
  const parents = new Map(nodes.map((node) => [node.id, node.parent]));
  return nodes.map((node) => {
    const [begins, ends]: [Range["begins"], Range["ends"]] = [[], []];
    for (const starts of pictures) {
      const start = starts.get(node.id);
      let above = node.parent;
      while (start !== undefined && depths.has(above) && !starts.has(above)) above = parents.get(above) ?? "";
      const over = starts.get(above);
      begins.push(start === undefined || over === undefined ? start : over + (depths.get(above) ?? 0));
      ends.push(start === undefined ? undefined : start + node.depth);
    }
    return { node, begins, ends };
  });
}

/** The rows of a lane: each call in its caller's row where there is room, else in the first that has. */
function filled(all: readonly Range[]): Row[] {
  const rows: Row[] = [];
  const rowOf = new Map<string, Row>();
  const begin = ({ begins }: Range): number => begins.at(-1) ?? 0;
  const end = ({ ends }: Row): number => ends.at(-1) ?? 0;
  // No row ends before this, so the many calls of one caller do not each search all rows.
  let soonest = Infinity;
  for (const range of [...all].sort((a, b) => begin(a) - begin(b))) {
    const { node: box, ends } = range;
    const own = rowOf.get(box.parent);
    let row = own && hasRoom(own, range) ? own : undefined;
    if (!row && begin(range) >= soonest) {
      row = rows.find((one) => hasRoom(one, range));
      if (!row) soonest = rows.reduce((least, one) => Math.min(least, end(one)), Infinity);
    }
    if (!row) {
      row = { breadth: 0, nodes: [], ends: ends.map(() => -Infinity) };
      rows.push(row);
    }
    row.nodes.push(box.id);
    row.breadth = Math.max(row.breadth, box.breadth);
    row.ends = row.ends.map((known, picture) => Math.max(known, ends[picture] ?? known));
    soonest = Math.min(soonest, end(row));
    rowOf.set(box.id, row);
  }
  return rows;
}

/** Has everything in the row ended where the edge starts, in each picture that has the edge? */
function hasRoom({ ends }: Row, { begins }: Range): boolean {
  return begins.every((begin, picture) => begin === undefined || begin >= (ends[picture] ?? -Infinity));
}
