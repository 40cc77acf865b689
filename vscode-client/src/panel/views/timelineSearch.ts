/** Where in what is seen of a timeline the next call is that one searches for. */
import { asked, type Scene } from "../draw/scene";
import { seen } from "../model/lanes";
import { ASLEEP, BUCKETS, tileLength, tilesFor } from "../model/tiles";

export interface Match {
  strand: number;
  depth: number;
  ns: number;
}

/** In the order of time, then from above; after (1) or before (-1) `here`. Invariant: only what is on the screen is looked through. */
export function nextLit(
  scene: Scene,
  lit: ReadonlySet<number>,
  here: Match | undefined,
  by: 1 | -1,
): Match | undefined {
  const found = matches(scene, lit).sort(compare);
  const bucket = 2 ** scene.scale;
  if (here) {
    const before = { ...here, ns: Math.floor(here.ns / bucket) * bucket };
    const next =
      by === 1 ? found.find((one) => compare(one, before) > 0) : found.findLast((one) => compare(one, before) < 0);
    if (next) return next;
  }
  return by === 1 ? found[0] : found.at(-1);
}

function compare(a: Match, b: Match): number {
  return a.ns - b.ns || a.strand - b.strand || a.depth - b.depth;
}

/** Where calls of these functions begin, bucket by bucket. */
function matches(scene: Scene, lit: ReadonlySet<number>): Match[] {
  const { first, count } = tilesFor(scene.span, scene.scale);
  const bucket = 2 ** scene.scale;
  const found: Match[] = [];
  for (const lane of seen(scene.lanes, scene.top, scene.height)) {
    if (lane.kind !== "strand") continue;
    for (const block of asked(lane)) {
      for (let row = 0; row < (block.depths ?? 1); row += 1) {
        let before = 0;
        for (let number = first; number < first + count; number += 1) {
          const tile = scene.tile(block, scene.scale, number);
          for (let at = 0; tile && at < BUCKETS; at += 1) {
            const cell = tile.cells[row * BUCKETS + at] ?? 0;
            const site = cell === 0 || cell & ASLEEP ? 0 : (tile.sites[cell - 1] ?? 0);
            const ns = number * tileLength(scene.scale) + at * bucket;
            if (site !== before && lit.has(site) && ns + bucket > scene.span.from && ns < scene.span.to) {
              found.push({ strand: lane.strand.strand, depth: (block.depth ?? 0) + row, ns });
            }
            before = site;
          }
        }
      }
    }
  }
  return found;
}
