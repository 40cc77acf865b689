/**
 * Places for what is found step by step: each new box beside the one that it was found from, those that are there stay.
 *
 * Invariant: a box never moves, and no two boxes share a slot.
 */
import { between } from "./between";
import type { Layout, PlacedBox, Route } from "./types";

/** A place in the grid; columns go right with what was caused, rows down with time. */
export interface Slot {
  column: number;
  row: number;
}

export type Direction = "left" | "right" | "up" | "down";

export const COLUMN = 352;
export const ROW = 82;
export const BOX = { width: 286, height: 48 };
/** As far from where a box should be as so many rows is one column. */
const COLUMN_COST = 2.5;
const COLUMNS_TRIED = 3;

export function slotKey({ column, row }: Slot): string {
  return `${column} ${row}`;
}

/** The free slot nearest to the one beside `anchor`, on the wanted side of it. */
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

/** The picture of boxes in their slots; coordinates may be negative, as the first box is at 0, 0. */
export function pinnedLayout(slots: ReadonlyMap<string, Slot>, links: readonly PinnedLink[]): Layout {
  const boxes = [...slots].map(([id, { column, row }]): PlacedBox => ({
    id,
    x: column * COLUMN,
    y: row * ROW,
    ...BOX,
  }));
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const routes = links.flatMap((link): Route[] => {
    const [from, to] = [byId.get(link.source), byId.get(link.target)];
    return from && to ? [between(link.id, from, to, ROW)] : [];
  });
  const across = (pick: (box: PlacedBox) => number): number =>
    boxes.length === 0 ? 0 : Math.max(...boxes.map(pick)) - Math.min(...boxes.map(pick));
  return {
    boxes,
    routes,
    width: across((box) => box.x) + BOX.width,
    height: across((box) => box.y) + BOX.height,
    flow: "right",
  };
}
