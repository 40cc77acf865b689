/**
 * Places nodes that are found step by step: a new node goes next to the node that it was found from, other nodes stay.
 *
 * Invariant: a node never moves, and no two nodes share a slot.
 */
import { edgeRoute } from "../../graph/layout/edgeRoute";
import type { Layout, PlacedNode, Route } from "../../graph/layout/types";

/** A place in the grid; columns go right with what was caused, rows down with time. */
export interface Slot {
  column: number;
  row: number;
}

export type Direction = "left" | "right" | "up" | "down";

export const COLUMN = 352;
export const ROW = 82;
export const NODE = { width: 286, height: 48 };
/** One column counts as many rows of distance. */
const COLUMN_COST = 2.5;
const COLUMNS_TRIED = 3;

export function slotKey({ column, row }: Slot): string {
  return `${column} ${row}`;
}

/** The free slot nearest to the slot next to `anchor`, on the requested side. */
export function freeSlot(taken: ReadonlySet<string>, anchor: Slot, direction: Direction): Slot {
  let best: Slot | undefined;
  let least = Infinity;
  const offer = (along: number, across: number): void => {
    const cost = along + across;
    if (cost >= least) return;
    for (const sign of [1, -1]) {
      const slot = beside(anchor, direction, along, sign * across);
      if (taken.has(slotKey(slot))) continue;
      best = slot;
      least = cost;
      return;
    }
  };
  const vertical = direction === "up" || direction === "down";
  // Among one more slots than are taken one is free.
  for (let rows = 0; rows <= taken.size; rows++) {
    for (let columns = 0; columns <= COLUMNS_TRIED; columns++) {
      if (vertical) offer(rows, columns * COLUMN_COST);
      else offer(columns * COLUMN_COST, rows);
    }
    if (rows > least) break;
  }
  return best ?? beside(anchor, direction, 0, 0);
}

function beside({ column, row }: Slot, direction: Direction, along: number, across: number): Slot {
  switch (direction) {
    case "left":
      return { column: column - 1 - along / COLUMN_COST, row: row + across };
    case "right":
      return { column: column + 1 + along / COLUMN_COST, row: row + across };
    case "up":
      return { column: column + across / COLUMN_COST, row: row - 1 - along };
    case "down":
      return { column: column + across / COLUMN_COST, row: row + 1 + along };
  }
}

export interface PinnedLink {
  id: string;
  source: string;
  target: string;
}

/** The picture of nodes in their slots; coordinates may be negative, as the first node is at 0, 0. */
export function pinnedLayout(slots: ReadonlyMap<string, Slot>, links: readonly PinnedLink[]): Layout {
  const nodes = [...slots].map(([id, { column, row }]): PlacedNode => ({
    id,
    x: column * COLUMN,
    y: row * ROW,
    ...NODE,
  }));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const routes = links.flatMap((link): Route[] => {
    const [from, to] = [byId.get(link.source), byId.get(link.target)];
    return from && to ? [edgeRoute(link.id, from, to, ROW)] : [];
  });
  const across = (pick: (node: PlacedNode) => number): number =>
    nodes.length === 0 ? 0 : Math.max(...nodes.map(pick)) - Math.min(...nodes.map(pick));
  return {
    nodes,
    routes,
    width: across((node) => node.x) + NODE.width,
    height: across((node) => node.y) + NODE.height,
    flow: "right",
  };
}
