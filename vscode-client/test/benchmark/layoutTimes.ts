/** The layouts that the benchmark times in a browser: the work of the panel between an answer and the places of its nodes. */
import { layered } from "../../src/panel/graph/layout/layered";
import { fold, pictureOf, prepare } from "../../src/panel/views/requests/flow/layout/prepare";
import { significance } from "../../src/panel/views/requests/flow/model/significance";
import { randomFlow } from "../support/flows";
import { random } from "../support/random";

const GAPS = { flow: "down", layerGap: 52, nodeGap: 20 } as const;

/** Returns the milliseconds of a layered layout of an acyclic graph with 1.3 edges per node. */
export function layeredMs(size: number, seed: number): number {
  const numbers = random(seed);
  const nodes = Array.from({ length: size }, (_, index) => ({
    id: `n${index}`,
    width: 90 + numbers.below(120),
    height: 48,
  }));
  const link = (index: number, target: number): { id: string; source: string; target: string; weight: number } => {
    const source = target - 1 - numbers.below(Math.min(target, 12));
    return { id: `e${index}`, source: `n${source}`, target: `n${target}`, weight: 1 };
  };
  const links = Array.from({ length: Math.round(size * 1.3) }, (_, index) =>
    link(index, index < size - 1 ? index + 1 : 1 + numbers.below(size - 1)),
  );
  const begin = performance.now();
  layered({ nodes, links, ...GAPS });
  return performance.now() - begin;
}

/** Returns the milliseconds of the layout and picture of a flow, in lanes from 600 calls on. The width of a text is its length. */
export function flowMs(size: number, seed: number): number {
  const flow = randomFlow(seed, size);
  const found = significance(flow, { alpha: 0.05, slower: 0.02 });
  const wish = { flow, found, repeats: false, equal: false, opened: new Set<string>(), anchor: "" };
  const begin = performance.now();
  pictureOf(
    prepare(wish, fold(wish), "right", (text) => text.length * 6.5),
    "union",
  );
  return performance.now() - begin;
}
