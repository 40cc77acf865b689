/** The example systems of the paper: containers and communications. */
import type { Entity, EntityInput, Talk } from "../../src/panel/views/entities/layouts/types";
import { random } from "./random";

export function system(
  entities: number,
  talks: readonly (readonly [number, number])[],
  container?: (id: number) => number,
): EntityInput {
  return {
    entities: Array.from({ length: entities }, (_, id): Entity => ({ id, container: container?.(id) ?? -1 })),
    talks: talks.map(([source, target]): Talk => ({ source, target, count: 1 })),
    radius: 500,
  };
}

/** 10 by 10 in the paper: 180 lines. */
export function grid(side: number): EntityInput {
  const talks: [number, number][] = [];
  for (let at = 0; at < side * side; at++) {
    if (at % side < side - 1) talks.push([at, at + 1]);
    if (at + side < side * side) talks.push([at, at + side]);
  }
  return system(side * side, talks);
}

/** The ring of Josephus, in which each entity talks to the next; the entities appeared in any order. */
export function josephus(count: number): EntityInput {
  const order = shuffled(count, 3);
  return system(
    count,
    order.map((id, index) => [id, order[(index + 1) % count] ?? 0]),
  );
}

/** A ring with fingers to the nodes 1, 2, 4 … further: 45 nodes with 4 fingers make 180 lines; the paper's picture has 150. */
export function chord(count: number, talks: number): EntityInput {
  const found: [number, number][] = [];
  for (let far = 1; found.length < talks; far *= 2) {
    for (let at = 0; at < count && found.length < talks; at++) found.push([at, (at + far) % count]);
  }
  return system(count, found);
}

export function hypercube(dimensions: number): EntityInput {
  const talks: [number, number][] = [];
  for (let at = 0; at < 1 << dimensions; at++) {
    for (let bit = 1; bit < 1 << dimensions; bit *= 2) if (!(at & bit)) talks.push([at, at | bit]);
  }
  return system(1 << dimensions, talks);
}

/** Parts that talk to their parent part; they appeared breadth-first. */
export function tree(depth: number): EntityInput {
  const count = 2 ** (depth + 1) - 1;
  return system(
    count,
    Array.from({ length: count - 1 }, (_, at) => [at + 1, at >> 1]),
  );
}

/** A farmer, workers, and tasks inside of them. */
export function farm(workers: number, tasks: number): EntityInput {
  const talks = Array.from({ length: workers }, (_, at): [number, number] => [0, at + 1]);
  return system(1 + workers + tasks, talks, (id) => (id > workers ? 1 + (id % workers) : -1));
}

export function shuffled(count: number, seed: number): number[] {
  const choose = random(seed);
  const found = Array.from({ length: count }, (_, index) => index);
  for (let at = count - 1; at > 0; at--) {
    const other = choose.below(at + 1);
    [found[at], found[other]] = [found[other] ?? 0, found[at] ?? 0];
  }
  return found;
}

export const SYSTEMS: Readonly<Record<string, EntityInput>> = {
  grid: grid(10),
  ring: josephus(45),
  chord: chord(45, 150),
  hypercube: hypercube(5),
  tree: tree(3),
  farm: farm(6, 24),
};

/** Actors in theaters that talk mostly to neighbours in their theater, and sometimes to others. */
export function theaters(count: number, actors: number): EntityInput {
  const choose = random(4);
  const talks = Array.from({ length: 3 * actors }, (): [number, number] => {
    const one = choose.below(actors);
    const other = choose.below(4) === 0 ? choose.below(actors) : (one + count * choose.below(4)) % actors;
    return [count + one, count + other];
  });
  return system(count + actors, talks, (id) => (id < count ? -1 : (id - count) % count));
}

/** A recorded state: 12 actors in a ring, who moved between 3 theaters until most were in the first. */
export function actors(): EntityInput {
  const theater = [0, 0, 0, 2, 0, 0, 1, 0, 1, 2, 2, 1];
  return system(
    15,
    Array.from({ length: 12 }, (_, at) => [3 + at, 3 + ((at + 1) % 12)]),
    (id) => theater[id - 3] ?? -1,
  );
}
