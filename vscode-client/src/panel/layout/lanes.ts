/**
 * Where the calls of large flows stand across the flow: a lane for each strand, its calls in rows, each row filled along the flow.
 *
 * A lane's rows take a call where all before it in the row are over when its caller is: so its edge has the row to itself, too. It
 * takes one look at each call, where the tree of smaller flows (`across`) takes as many as the branches are long.
 *
 * Invariant: no two boxes overlap, in no picture and at no time between two; lanes do not overlap, and have all calls of their own
 * and no others; what goes along the flow passes over no box. What goes across it may.
 */
import type { FlowBox } from "./flow";

/** From so many boxes on a flow is drawn in lanes. */
export const LANES_FROM = 600;
/** Between rows, in which lines of calls that wait pass. */
export const ROW_GAP = 20;
/** At a lane's low side, for its name. */
export const LANE_TITLE = 22;
export const LANE_GAP = 14;

/** What a lane is told apart by, and called. */
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
  boxes: string[];
  /** In each picture, where what stands in it is over. */
  ends: number[];
}

/**
 * The low side of each box, and the lanes in the order of their first calls.
 *
 * `pictures`: where boxes begin along the flow; the last one has them all.
 */
export function laned(
  boxes: readonly FlowBox[],
  pictures: readonly ReadonlyMap<string, number>[],
  strandOf: ReadonlyMap<string, Strand>,
): { lows: Map<string, number>; lanes: Lane[] } {
  const strands = new Map<string, { strand: Strand; own: Range[] }>();
  for (const range of ranges(boxes, pictures)) {
    const strand = strandOf.get(range.box.id) ?? NOBODY;
    const known = strands.get(strand.id);
    if (known) known.own.push(range);
    else strands.set(strand.id, { strand, own: [range] });
  }
  const lows = new Map<string, number>();
  let low = 0;
  const lanes = [...strands.values()].map(({ strand, own }): Lane => {
    let at = low + LANE_TITLE;
    for (const row of filled(own)) {
      for (const id of row.boxes) lows.set(id, at);
      at += row.breadth + ROW_GAP;
    }
    const lane = { ...strand, low, high: at - ROW_GAP + LANE_GAP };
    low = lane.high + LANE_GAP;
    return lane;
  });
  return { lows, lanes };
}

const NOBODY: Strand = { id: "", name: "" };

/** Of a box, in each picture: where its edge begins and where the box ends; of a picture that does not have it, undefined. */
interface Range {
  box: FlowBox;
  begins: (number | undefined)[];
  ends: (number | undefined)[];
}

function ranges(boxes: readonly FlowBox[], pictures: readonly ReadonlyMap<string, number>[]): Range[] {
  const depths = new Map(boxes.map((box) => [box.id, box.depth]));
  const parents = new Map(boxes.map((box) => [box.id, box.parent]));
  return boxes.map((box) => {
    const [begins, ends]: [Range["begins"], Range["ends"]] = [[], []];
    for (const starts of pictures) {
      const start = starts.get(box.id);
      let above = box.parent;
      while (start !== undefined && depths.has(above) && !starts.has(above)) above = parents.get(above) ?? "";
      const over = starts.get(above);
      begins.push(start === undefined || over === undefined ? start : over + (depths.get(above) ?? 0));
      ends.push(start === undefined ? undefined : start + box.depth);
    }
    return { box, begins, ends };
  });
}

/** The rows of a lane: each call in its caller's row where there is room, else in the first that has. */
function filled(all: readonly Range[]): Row[] {
  const rows: Row[] = [];
  const rowOf = new Map<string, Row>();
  const begin = ({ begins }: Range): number => begins.at(-1) ?? 0;
  const end = ({ ends }: Row): number => ends.at(-1) ?? 0;
  // No row is over before this, so that of many calls of one caller not each looks at all rows.
  let soonest = Infinity;
  for (const range of [...all].sort((a, b) => begin(a) - begin(b))) {
    const { box, ends } = range;
    const own = rowOf.get(box.parent);
    let row = own && hasRoom(own, range) ? own : undefined;
    if (!row && begin(range) >= soonest) {
      row = rows.find((one) => hasRoom(one, range));
      if (!row) soonest = rows.reduce((least, one) => Math.min(least, end(one)), Infinity);
    }
    if (!row) {
      row = { breadth: 0, boxes: [], ends: ends.map(() => -Infinity) };
      rows.push(row);
    }
    row.boxes.push(box.id);
    row.breadth = Math.max(row.breadth, box.breadth);
    row.ends = row.ends.map((known, picture) => Math.max(known, ends[picture] ?? known));
    soonest = Math.min(soonest, end(row));
    rowOf.set(box.id, row);
  }
  return rows;
}

/** Is all that stands in the row over where the edge begins, in each picture that has it? */
function hasRoom({ ends }: Row, { begins }: Range): boolean {
  return begins.every((begin, picture) => begin === undefined || begin >= (ends[picture] ?? -Infinity));
}
