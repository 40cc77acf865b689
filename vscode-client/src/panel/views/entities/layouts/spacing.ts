/**
 * Initial positions: spreads entities by the number of lines between them, so that a connected sheet or tree is not folded.
 *
 * The distances are measured from a few entities, each the farthest from the previous ones. The positions use the two directions in
 * which these distances differ most.
 */
import type { Link } from "./groups";
import type { Spot } from "./types";

const PIVOTS = 40;
const ROUNDS = 60;
/** Initial distance of entities with the same distances to all others, as a share of a line's length. */
const ASIDE = 0.15;

/** Lines have about length 1. The same for the same lines. */
export function initialSpacing(count: number, links: readonly Link[]): Spot[] {
  const near: number[][] = Array.from({ length: count }, () => []);
  for (const { a, b } of links) {
    near[a]?.push(b);
    near[b]?.push(a);
  }
  const columns: number[][] = [];
  const least = new Array<number>(count).fill(Infinity);
  let pivot = 0;
  for (let round = 0; round < Math.min(PIVOTS, count); round++) {
    const column = distances(pivot, near);
    columns.push(column);
    column.forEach((value, index) => (least[index] = Math.min(least[index] ?? 0, value)));
    pivot = least.indexOf(Math.max(...least));
  }
  const centred = centre(columns, count);
  const first = direction(centred, []);
  const second = direction(centred, first);
  const of = (index: number, along: readonly number[]): number =>
    centred.reduce((sum, column, place) => sum + (column[index] ?? 0) * (along[place] ?? 0), 0);
  const found = Array.from({ length: count }, (_, index) => ({ x: of(index, first), y: of(index, second) }));
  const lengths = links.map(({ a, b }) =>
    Math.hypot((found[a]?.x ?? 0) - (found[b]?.x ?? 0), (found[a]?.y ?? 0) - (found[b]?.y ?? 0)),
  );
  const unit = lengths.length ? lengths.reduce((sum, length) => sum + length, 0) / lengths.length : 0;
  return found.map(({ x, y }, index) => {
    // The golden angle: no two in the same direction.
    const angle = index * 2.399963;
    const scale = unit > 1e-9 ? 1 / unit : 0;
    const aside = unit > 1e-9 ? ASIDE : Math.sqrt(index + 1);
    return { x: x * scale + aside * Math.cos(angle), y: y * scale + aside * Math.sin(angle) };
  });
}

/** Lines to all others; an unreachable entity is a little farther than all reachable ones. */
function distances(from: number, near: readonly number[][]): number[] {
  const found = new Array<number>(near.length).fill(-1);
  found[from] = 0;
  let [open, level] = [[from], 0];
  while (open.length) {
    level++;
    const next: number[] = [];
    for (const at of open) {
      for (const one of near[at] ?? []) {
        if ((found[one] ?? 0) >= 0) continue;
        found[one] = level;
        next.push(one);
      }
    }
    open = next;
  }
  return found.map((value) => (value < 0 ? level + 1 : value));
}

/** Squares of distances, less what rows and columns have in common. */
function centre(columns: readonly number[][], count: number): number[][] {
  const squared = columns.map((column) => column.map((value) => value * value));
  const of = squared.map((column) => column.reduce((sum, value) => sum + value, 0) / Math.max(1, count));
  const all = of.reduce((sum, value) => sum + value, 0) / Math.max(1, of.length);
  const rows = Array.from(
    { length: count },
    (_, index) => squared.reduce((sum, column) => sum + (column[index] ?? 0), 0) / Math.max(1, squared.length),
  );
  return squared.map((column, place) =>
    column.map((value, index) => (value - (of[place] ?? 0) - (rows[index] ?? 0) + all) / -2),
  );
}

/** In which the columns differ most, at right angles to another. */
function direction(columns: readonly number[][], other: readonly number[]): number[] {
  const products = columns.map((one) =>
    columns.map((two) => one.reduce((sum, value, index) => sum + value * (two[index] ?? 0), 0)),
  );
  let found = columns.map((_, index) => Math.cos(index * 1.7 + 0.3));
  for (let round = 0; round < ROUNDS; round++) {
    const along = found.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
    const apart = found.map((value, index) => value - along * (other[index] ?? 0));
    const next = products.map((row) => row.reduce((sum, value, index) => sum + value * (apart[index] ?? 0), 0));
    const left = next.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
    found = next.map((value, index) => value - left * (other[index] ?? 0));
    const length = Math.hypot(...found) || 1;
    found = found.map((value) => value / length);
  }
  return found;
}
