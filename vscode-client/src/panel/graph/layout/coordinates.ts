/**
 * Places the nodes of each layer across the flow, given their order: neighbours along edges are aligned as far as the minimum distances
 * allow.
 *
 * Invariant: the order of every layer and its minimum distances hold exactly after every sweep. Time is linear in the number of
 * segments. Linear programming, as in d3-dag, takes half a minute if long edges cross many layers.
 *
 * Each sweep goes down or up through the layers and solves one layer exactly while the others stay fixed: least squares under distances
 * is isotonic regression, which pooling of colliding neighbours solves in one pass. Weights are set to 1/length from sweep to sweep, so
 * that the sum of lengths is minimised rather than of squares: a few bent edges and many straight ones, instead of many slightly slanted
 * ones.
 */

export interface Segment {
  /** The upper end's layer and position; the lower end is in the next layer. */
  layer: number;
  upper: number;
  lower: number;
  weight: number;
}

const SWEEPS = 40;
/** Below this length an edge counts as straight (px). */
const STRAIGHT = 3;
const STRAIGHTENINGS = 4;
/** How much more a long edge's line matters than a node's place. */
const EDGE_STIFFNESS = 6;

/**
 * `gaps[layer][i]`: the least distance between the centres of i - 1 and i; `gaps[layer][0]` is not used. `bends[layer][i]`:
 * the number of the long edge that passes there, -1 for a node. Gives centres.
 */
export function align(
  gaps: readonly (readonly number[])[],
  segments: readonly Segment[],
  bends: readonly (readonly number[])[],
): number[][] {
  const centres = gaps.map(compact);
  const above = gaps.map((layer) => layer.map((): Neighbour[] => []));
  const below = gaps.map((layer) => layer.map((): Neighbour[] => []));
  for (const { layer, upper, lower, weight } of segments) {
    above[layer + 1]?.[lower]?.push({ index: upper, weight });
    below[layer]?.[upper]?.push({ index: lower, weight });
  }
  const settle = (layer: number, sides: readonly Side[]): void => {
    const now = centres[layer] ?? [];
    const wanted = now.map((x, index) => pull(x, index, sides));
    centres[layer] = nearest(wanted, gaps[layer] ?? []);
  };
  const up = (layer: number): Side => ({ neighbours: above[layer] ?? [], centres: centres[layer - 1] ?? [] });
  const down = (layer: number): Side => ({ neighbours: below[layer] ?? [], centres: centres[layer + 1] ?? [] });
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    // The first sweeps move whole branches, the later ones weigh both sides.
    const both = sweep >= SWEEPS / 3;
    if (sweep % 2 === 0) {
      for (let layer = 0; layer < gaps.length; layer += 1) settle(layer, both ? [up(layer), down(layer)] : [up(layer)]);
    } else {
      for (let layer = gaps.length - 1; layer >= 0; layer -= 1) {
        settle(layer, both ? [up(layer), down(layer)] : [down(layer)]);
      }
    }
  }
  straighten(centres, gaps, bends);
  return centres;
}

/** Puts the places where a long edge passes layers on one line, as far as the nodes let it, which give way a little. */
function straighten(
  centres: number[][],
  gaps: readonly (readonly number[])[],
  bends: readonly (readonly number[])[],
): void {
  for (let round = 0; round < STRAIGHTENINGS; round += 1) {
    const passes = new Map<number, number[]>();
    bends.forEach((layer, number) => {
      layer.forEach((edge, index) => {
        if (edge >= 0) passes.set(edge, [...(passes.get(edge) ?? []), centres[number]?.[index] ?? 0]);
      });
    });
    const lines = new Map([...passes].map(([edge, places]) => [edge, median(places)]));
    bends.forEach((layer, number) => {
      const wishes = layer.map((edge, index): Wish => {
        const now = centres[number]?.[index] ?? 0;
        const line = lines.get(edge);
        return line === undefined ? { at: now, weight: 1 } : { at: line, weight: EDGE_STIFFNESS };
      });
      centres[number] = nearest(wishes, gaps[number] ?? []);
    });
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

interface Neighbour {
  index: number;
  weight: number;
}

interface Side {
  neighbours: readonly (readonly Neighbour[])[];
  centres: readonly number[];
}

interface Wish {
  at: number;
  weight: number;
}

/** Where a node would stand for its neighbours' sake, and how much it matters; its own place, barely, if it has none. */
function pull(x: number, index: number, sides: readonly Side[]): Wish {
  let sum = 0;
  let weights = 0;
  for (const { neighbours, centres } of sides) {
    for (const { index: other, weight } of neighbours[index] ?? []) {
      const at = centres[other] ?? x;
      const pulling = weight / (Math.abs(at - x) + STRAIGHT);
      sum += pulling * at;
      weights += pulling;
    }
  }
  return weights > 0 ? { at: sum / weights, weight: weights } : { at: x, weight: 1e-4 };
}

interface Block {
  /** The place that all of the block's nodes want, each less the distances left of it. */
  at: number;
  weight: number;
  count: number;
}

/** The positions nearest to the desired ones that keep the minimum distances: isotonic regression by pooling. */
export function nearest(wishes: readonly Wish[], gaps: readonly number[]): number[] {
  const blocks: Block[] = [];
  let offset = 0;
  const offsets = wishes.map((wish, index) => {
    offset += index > 0 ? (gaps[index] ?? 0) : 0;
    let block: Block = { at: wish.at - offset, weight: wish.weight, count: 1 };
    for (let last = blocks.at(-1); last && last.at > block.at; last = blocks.at(-1)) {
      const weight = last.weight + block.weight;
      block = {
        at: (last.at * last.weight + block.at * block.weight) / weight,
        weight,
        count: last.count + block.count,
      };
      blocks.pop();
    }
    blocks.push(block);
    return offset;
  });
  const places = blocks.flatMap((block) => Array.from({ length: block.count }, () => block.at));
  return offsets.map((before, index) => before + (places[index] ?? 0));
}

/** As close together as allowed, the middle at 0. */
function compact(gaps: readonly number[]): number[] {
  let x = 0;
  const centres = gaps.map((gap, index) => (x += index > 0 ? gap : 0));
  return centres.map((centre) => centre - x / 2);
}
