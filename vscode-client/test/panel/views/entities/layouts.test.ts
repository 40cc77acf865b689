/** Layouts of entities by rings and forces, on the systems of the paper and on random systems. */
import { describe, expect, test } from "vitest";
import { automatic, LAYOUTS } from "../../../../src/panel/views/entities/layouts/auto";
import { clarity, cross, isBetter } from "../../../../src/panel/views/entities/layouts/clarity";
import { concentric } from "../../../../src/panel/views/entities/layouts/concentric";
import {
  force,
  ForceLayout,
  LENGTH,
  REPULSION,
  settled,
  STIFFNESS,
} from "../../../../src/panel/views/entities/layouts/force/force";
import { groups } from "../../../../src/panel/views/entities/layouts/groups";
import { repel } from "../../../../src/panel/views/entities/layouts/force/repulsion";
import { Crossings } from "../../../../src/panel/views/entities/layouts/untangle/crossings";
import { ContainerAreas } from "../../../../src/panel/views/entities/layouts/force/containerArea";
import type { EntityInput, Place } from "../../../../src/panel/views/entities/layouts/types";
import { untangle } from "../../../../src/panel/views/entities/layouts/untangle/untangle";
import { random } from "../../../support/random";
import {
  actors,
  chord,
  grid,
  hypercube,
  josephus,
  shuffled,
  system,
  SYSTEMS,
  theaters,
  tree,
} from "../../../support/systems";

const SEEDS = [1, 2, 3, 4, 5, 6];

/** Makes entities in random containers, including themselves, cycles and missing containers. */
function anything(seed: number, count: number): EntityInput {
  const choose = random(seed);
  const talks = Array.from({ length: 2 * count }, (): [number, number] => [choose.below(count), choose.below(count)]);
  const containers = Array.from({ length: count }, () => choose.below(count + 2) - 1);
  return system(count, talks, (id) => (id % 2 ? (containers[id] ?? -1) : -1));
}

const byId = (places: readonly Place[]): Map<number, Place> => new Map(places.map((place) => [place.id, place]));
const at = (places: readonly Place[], id: number): Place => byId(places).get(id) ?? { id, x: NaN, y: NaN, radius: NaN };
const distance = (a: Place, b: Place): number => Math.hypot(a.x - b.x, a.y - b.y);

describe("entity groups", () => {
  test("have every entity once, after its container, for any containers", () => {
    for (const seed of SEEDS) {
      const input = anything(seed, 40);
      const found = groups(input);
      const members = found.flatMap((group) => group.members);
      expect([...members].sort((a, b) => a - b)).toEqual(input.entities.map(({ id }) => id));
      const placed = new Set([-1]);
      for (const group of found) {
        expect(placed.has(group.container)).toBe(true);
        for (const { b } of group.outer) expect(placed.has(b)).toBe(true);
        for (const id of group.members) placed.add(id);
      }
    }
  });
});

describe.each(Object.entries({ concentric, untangled: untangle }))("%s layout", (_, layout) => {
  test("places entities without overlap and inside their containers", () => {
    for (const seed of SEEDS.slice(0, 3)) {
      const input = anything(seed, 18);
      const found = groups(input);
      const places = byId(layout(input));
      expect(places.size).toBe(18);
      for (const { container, members } of found) {
        const around = places.get(container) ?? { x: 0, y: 0, radius: input.radius };
        members.forEach((id, index) => {
          const mine = places.get(id);
          if (!mine) throw new Error(`${id} has no place`);
          expect(Math.hypot(mine.x - around.x, mine.y - around.y) + mine.radius).toBeLessThanOrEqual(
            around.radius + 1e-6,
          );
          for (const other of members.slice(index + 1)) {
            const its = places.get(other);
            if (its) expect(distance(mine, its)).toBeGreaterThan(mine.radius + its.radius);
          }
        });
      }
    }
  });

  test("of equal input is equal, and of no entities is empty", () => {
    const input = anything(9, 12);
    expect(layout(input)).toEqual(layout(input));
    expect(layout(system(0, []))).toEqual([]);
    expect(layout(system(1, [[0, 0]]))).toMatchObject([{ id: 0, x: 0, y: 0, radius: 375 }]);
  });
});

describe("concentric layout", () => {
  test("has the published radii", () => {
    const places = concentric(system(4, []));
    const share = Math.sin(Math.PI / 4);
    const radius = 500 / (1 + share);
    for (const place of places) {
      expect(Math.hypot(place.x, place.y)).toBeCloseTo(radius);
      expect(place.radius).toBeCloseTo(0.75 * radius * share);
    }
  });

  test("of rings and trees has no crossings, in any order of entities", () => {
    for (const seed of SEEDS) {
      expect(clarity(josephus(30), concentric(josephus(30))).crossings).toBe(0);
      const whole = tree(3);
      const names = shuffled(15, seed);
      const input = {
        ...whole,
        talks: whole.talks.map(({ source, target, count }) => ({
          source: names[source] ?? 0,
          target: names[target] ?? 0,
          count,
        })),
      };
      expect(clarity(input, concentric(input))).toMatchObject({ crossings: 0, cleared: true });
    }
  });

  test("turns entities towards their partners outside of the container", () => {
    const input = system(8, [[4, 1], [5, 3]], (id) => (id > 3 ? 0 : -1)); // prettier-ignore
    const places = concentric(input);
    for (const [inner, outer] of [
      [4, 1],
      [5, 3],
    ] as const) {
      const others = [4, 5, 6, 7].filter((id) => id !== inner).map((id) => distance(at(places, id), at(places, outer)));
      expect(distance(at(places, inner), at(places, outer))).toBeLessThan(Math.max(...others));
    }
  });
});

describe("force layout", () => {
  test.each(Object.entries(SYSTEMS))("settles for %s", (_, input) => {
    const found = settled(input);
    expect(found.still).toBe(true);
    expect(found.cycles).toBeLessThan(5000);
    expect(found.places.every(({ x, y }) => Number.isFinite(x) && Math.hypot(x, y) <= input.radius)).toBe(true);
  });

  test("places two partners where spring and repulsion balance", () => {
    const layout = new ForceLayout(system(2, [[0, 1]]));
    while (layout.cycle());
    const far = Math.hypot((layout.x[0] ?? 0) - (layout.x[1] ?? 0), (layout.y[0] ?? 0) - (layout.y[1] ?? 0));
    // The centre of the picture pulls each by 0.006 per px, from half the distance.
    expect(REPULSION / far ** 2).toBeCloseTo(STIFFNESS * (far - LENGTH) + (0.006 * far) / 2, 3);
  });

  test("repulsion by quadtree equals that of all pairs within a few percent", () => {
    const choose = random(4);
    const count = 1200;
    const spots = Array.from({ length: 2 * count }, () => choose.below(1_000_000) / 500);
    const [x, y] = [Float64Array.from(spots.slice(0, count)), Float64Array.from(spots.slice(count))];
    const [fx, fy] = [new Float64Array(count), new Float64Array(count)];
    repel(x, y, REPULSION, fx, fy);
    let [wrong, all] = [0, 0];
    for (let i = 0; i < count; i += 7) {
      let [ex, ey] = [0, 0];
      for (let j = 0; j < count; j++) {
        const [dx, dy] = [(x[i] ?? 0) - (x[j] ?? 0), (y[i] ?? 0) - (y[j] ?? 0)];
        const squared = Math.max(1, dx * dx + dy * dy);
        ex += (REPULSION * dx) / squared ** 1.5;
        ey += (REPULSION * dy) / squared ** 1.5;
      }
      wrong += Math.hypot(ex - (fx[i] ?? 0), ey - (fy[i] ?? 0));
      all += Math.hypot(ex, ey);
    }
    expect(wrong / all).toBeLessThan(0.03);
  });

  test("of many entities at one place is finite", () => {
    const layout = new ForceLayout(system(400, []));
    layout.x.fill(0);
    layout.y.fill(0);
    layout.cycle();
    expect(layout.places().every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y))).toBe(true);
  });

  test("keeps pinned entities in place until unpinned", () => {
    const layout = new ForceLayout(grid(3));
    layout.pin(4, { x: 300, y: -200 });
    for (let cycle = 0; cycle < 200; cycle++) layout.cycle();
    expect([layout.x[4], layout.y[4]]).toEqual([300, -200]);
    layout.pin(4, undefined);
    while (layout.cycle());
    expect(Math.hypot(layout.x[4] ?? 0, layout.y[4] ?? 0)).toBeLessThan(100);
  });

  test("keeps the entities of a container together", () => {
    const choose = random(11);
    const input = system(24, Array.from({ length: 20 }, () => [2 + choose.below(22), 2 + choose.below(22)]), (id) => (id < 2 ? -1 : id % 2)); // prettier-ignore
    const { places } = settled(input);
    const free = settled({ ...input, entities: input.entities.map(({ id }) => ({ id, container: -1 })) }).places;
    const apart = (of: readonly Place[]): number => {
      const pairs = input.entities.flatMap(({ id: a, container }) =>
        input.entities
          .filter((other) => other.id > a && container >= 0 && other.container === container)
          .map(({ id: b }) => [a, b] as const),
      );
      return pairs.reduce((sum, [a, b]) => sum + distance(at(of, a), at(of, b)), 0) / pairs.length;
    };
    expect(apart(places)).toBeLessThan(apart(free));
  });
});

/** Returns whether a spot is inside a triangle of the others, i.e. inside their convex hull. */
function isAmong(spot: Place, others: readonly Place[]): boolean {
  const turn = (a: Place, b: Place): number => Math.sign((b.x - a.x) * (spot.y - a.y) - (b.y - a.y) * (spot.x - a.x));
  return others.some((a, i) =>
    others
      .slice(i + 1)
      .some((b, j) => others.slice(i + j + 2).some((c) => Math.abs(turn(a, b) + turn(b, c) + turn(c, a)) === 3)),
  );
}

/** Counts the entities placed in containers that they are not in. */
function strangers(input: EntityInput, places: readonly Place[], holders: readonly number[]): number {
  const container = new Map(input.entities.map((entity) => [entity.id, entity.container]));
  const isIn = (id: number, holder: number): boolean => {
    const around = container.get(id) ?? -1;
    return around === holder || (around >= 0 && isIn(around, holder));
  };
  const leaves = places.filter(({ id }) => !holders.includes(id));
  return holders.flatMap((holder) => {
    const members = leaves.filter(({ id }) => isIn(id, holder));
    return leaves.filter((leaf) => !members.includes(leaf) && isAmong(leaf, members));
  }).length;
}

describe("force layout of containers", () => {
  /** Makes entities in containers, two of them nested; each talks to the next and to random others. */
  function crowded(seed: number): EntityInput {
    const choose = random(seed);
    const talks = Array.from({ length: 240 }, (_, index): [number, number] =>
      index < 60 ? [6 + index, 6 + ((index + 1) % 60)] : [6 + choose.below(60), 6 + choose.below(60)],
    );
    return system(66, talks, (id) => (id < 2 ? -1 : id < 6 ? id % 2 : choose.below(7) - 1));
  }
  const HOLDERS = [0, 1, 2, 3, 4, 5];

  test("separates theaters whose actors all talk across them", () => {
    const input = actors();
    const { places, still } = settled(input);
    expect(still).toBe(true);
    expect(strangers(input, places, [0, 1, 2])).toBe(0);
    expect(clarity(input, places).foreign).toBe(0);
    expect(automatic(input).figures.force?.foreign).toBe(0);
  });

  test("separates nested containers, also after moves between them", () => {
    for (const seed of SEEDS) {
      const input = crowded(seed);
      const first = settled(input);
      expect([first.still, strangers(input, first.places, HOLDERS)]).toEqual([true, 0]);
      const moved = {
        ...input,
        entities: input.entities.map(({ id, container }) => ({
          id,
          container: id >= 6 && id % 5 === 0 ? id % 6 : container,
        })),
      };
      const layout = new ForceLayout(moved, first.places);
      while (layout.cycles < 5000 && layout.cycle());
      expect(layout.cycles).toBeLessThan(5000);
      expect(strangers(moved, layout.places(), HOLDERS)).toBe(0);
    }
  });

  test("pushes with equal and opposite forces", () => {
    const choose = random(5);
    const spots = (): Float64Array => Float64Array.from({ length: 20 }, () => choose.below(200));
    const [x, y, fx, fy] = [spots(), spots(), new Float64Array(20), new Float64Array(20)];
    const held = [[0, 1, 2, 3, 4, 5], [2, 3], [6, 7, 8, 9], [10]];
    new ContainerAreas(held, 20, LENGTH).push(x, y, fx, fy);
    expect(fx.some((force) => Math.abs(force) > 1)).toBe(true);
    for (const force of [fx, fy]) expect(force.reduce((sum, one) => sum + one, 0)).toBeCloseTo(0);
  });
});

describe("clarity", () => {
  test("counts entities inside foreign containers", () => {
    const at = (id: number, x: number, y: number): Place => ({ id, x, y, radius: 5 });
    const input = system(6, [], (id) => (id >= 1 && id <= 3 ? 0 : -1));
    const around = [at(0, 0, 0), at(1, -60, -60), at(2, 60, -60), at(3, 0, 60)];
    expect(clarity(input, [...around, at(4, 0, 0), at(5, 200, 0)])).toMatchObject({ foreign: 1, cleared: false });
    expect(clarity(input, [...around, at(4, 0, 90), at(5, 200, 0)])).toMatchObject({ foreign: 0, cleared: true });
    const [with4, without] = [
      clarity(input, [...around, at(4, 0, 0), at(5, 200, 0)]),
      clarity(input, [...around, at(4, 0, 90), at(5, 200, 0)]),
    ];
    expect([isBetter(without, with4), isBetter(with4, without)]).toEqual([true, false]);
  });

  test("counts crossings of chords of a circle", () => {
    for (const seed of SEEDS) {
      const choose = random(seed);
      const talks = Array.from({ length: 20 }, (): [number, number] => [choose.below(12), choose.below(12)]);
      const input = system(12, talks);
      const places = input.entities.map(({ id }) => ({
        id,
        x: Math.cos((id * Math.PI) / 6),
        y: Math.sin((id * Math.PI) / 6),
        radius: 0.01,
      }));
      const lines = [
        ...new Set(talks.filter(([a, b]) => a !== b).map((pair) => [...pair].sort((a, b) => a - b).join(" "))),
      ].map((pair) => pair.split(" ").map(Number));
      let expected = 0;
      lines.forEach(([a = 0, b = 0], index) => {
        for (const [c = 0, d = 0] of lines.slice(index + 1))
          expected += Number((a < c && c < b && b < d) || (c < a && a < d && d < b));
      });
      expect(clarity(input, places)).toMatchObject({ crossings: expected, passed: 0, lines: lines.length });
    }
  });

  test("counts entities under a line, except containers and contents of its ends", () => {
    const row = (id: number, x: number, radius: number): Place => ({ id, x, y: 0, radius });
    const input = system(4, [[0, 2]], (id) => (id === 2 ? 3 : -1));
    const places = [row(0, 0, 5), row(1, 50, 5), row(2, 100, 5), row(3, 100, 20)];
    expect(clarity(input, places)).toMatchObject({ passed: 1, clear: 0, cleared: false });
    expect(
      clarity(
        input,
        places.filter(({ id }) => id !== 1),
      ),
    ).toMatchObject({ passed: 0, cleared: true });
  });

  test("allows two crossings of a line, but not three", () => {
    const lines = (count: number): [EntityInput, Place[]] => {
      const places: Place[] = [
        { id: 0, x: -10, y: 0, radius: 0.1 },
        { id: 1, x: 10, y: 0, radius: 0.1 },
      ];
      for (let line = 1; line <= count; line++) {
        places.push({ id: 2 * line, x: line, y: 5, radius: 0.1 }, { id: 2 * line + 1, x: line, y: -5, radius: 0.1 });
      }
      return [
        system(
          2 * count + 2,
          Array.from({ length: count + 1 }, (_, line) => [2 * line, 2 * line + 1]),
        ),
        places,
      ];
    };
    expect(clarity(...lines(2))).toMatchObject({ cleared: true, mostCrossed: 2 });
    expect(clarity(...lines(3))).toMatchObject({ cleared: false, mostCrossed: 3, clear: 3 });
  });
});

describe("untangled layout of containers", () => {
  test("shows all lines between theaters, unlike concentric and force layouts", () => {
    const input = actors();
    const [ring, forces] = [clarity(input, concentric(input)), clarity(input, force(input))];
    expect(Math.max(ring.clear, forces.clear)).toBeLessThan(ring.lines);
    expect(clarity(input, untangle(input))).toMatchObject({ lines: 12, clear: 12, foreign: 0 });
  });
});

describe("crossings", () => {
  test("cost after moves and undo equals a new computation", () => {
    for (const seed of SEEDS) {
      const choose = random(seed);
      const spot = (): { x: number; y: number } => ({ x: choose.below(1000), y: choose.below(1000) });
      const spots = Array.from({ length: 14 }, spot);
      const links = Array.from({ length: 30 }, () => ({ a: choose.below(14), b: choose.below(14), weight: 1 })).filter(
        ({ a, b }) => a !== b,
      );
      const tangle = new Crossings(spots, links, 20, 1000);
      for (let round = 0; round < 60; round++) {
        const [one, other] = [choose.below(14), choose.below(14)];
        tangle.move(one === other ? [one] : [one, other], [spot(), spot()]);
        if (choose.below(2)) tangle.undo();
        const anew = new Crossings(
          spots.map((_, member) => tangle.at(member)),
          links,
          20,
          1000,
        );
        expect(tangle.cost).toBeCloseTo(anew.cost, 6);
      }
    }
  });

  test("cross() detects crossing lines only", () => {
    const [a, b, c, d] = [
      { x: 0, y: 0 },
      { x: 10, y: 10 },
      { x: 0, y: 10 },
      { x: 10, y: 0 },
    ] as const;
    expect([cross(a, b, c, d), cross(a, c, b, d), cross(a, { x: 4, y: 4 }, { x: 3, y: 3 }, b)]).toEqual([
      true,
      false,
      true,
    ]);
  });
});

describe("automatic layout", () => {
  test.each([
    ["grid", grid(6), "force"],
    ["ring", josephus(20), "concentric"],
    ["tree", tree(3), "concentric"],
    ["chord", chord(20, 60), "untangled"],
    ["hypercube", hypercube(4), "untangled"],
  ] as const)("of a %s is the one with the most clear lines", (_, input, expected) => {
    const found = automatic(input);
    expect(found.name).toBe(expected);
    const best = found.figures[found.name]?.clear ?? 0;
    for (const figures of Object.values(found.figures)) expect(figures.clear).toBeLessThanOrEqual(best);
    expect(clarity(input, found.places)).toEqual(found.figures[found.name]);
  });

  test.each([
    ["actors as recorded", actors()],
    ["theaters", theaters(3, 12)],
    ["a theater of many", theaters(4, 24)],
  ] as const)("of %s is the best of all layouts", (_, input) => {
    const found = automatic(input);
    for (const layout of Object.values(LAYOUTS)) {
      expect(isBetter(clarity(input, layout(input)), clarity(input, found.places))).toBe(false);
    }
  });

  test("of no entities is empty", () => {
    expect(automatic(system(0, []))).toMatchObject({ name: "concentric", places: [] });
  });
});
