/** The places of entities, names and outlines: no forbidden overlap, and moving entities come to rest. */
import { describe, expect, test } from "vitest";
import { LayoutRequests, type ArrangeAnswer } from "../../../../src/panel/views/entities/layouts/requests";
import { hull } from "../../../../src/panel/views/entities/layouts/hull";
import { type Named, placeNames } from "../../../../src/panel/views/entities/layouts/namePlaces";
import { Camera } from "../../../../src/panel/views/entities/model/camera";
import { Board } from "../../../../src/panel/views/entities/paint/board";
import { box } from "../../../support/entityBox";
import { random } from "../../../support/random";
import { grid, theaters } from "../../../support/systems";

describe("placeNames", () => {
  test("covers neither names nor circles of others, and has the required names", () => {
    const choose = random(3);
    const named = Array.from({ length: 150 }, (_, id): Named => ({
      id, x: choose.below(900), y: choose.below(600), radius: 3 + choose.below(12), width: 20 + choose.below(60), height: 15,
      holds: id % 9 === 0, must: id === 0,
    })); // prettier-ignore
    const found = placeNames(named, 900, 600);
    expect(found.length).toBeGreaterThan(20);
    expect(found[0]?.id).toBe(0);
    const byId = new Map(named.map((one) => [one.id, one]));
    const rects = found.map(({ id, x, y }) => ({
      id,
      x,
      y: y - 7.5,
      right: x + (byId.get(id)?.width ?? 0),
      bottom: y + 7.5,
    }));
    for (const [at, a] of rects.entries()) {
      for (const b of rects.slice(at + 1)) {
        expect(a.x >= b.right || b.x >= a.right || a.y >= b.bottom || b.y >= a.bottom).toBe(true);
      }
      if (byId.get(a.id)?.must) continue;
      for (const { id, x, y, radius, holds } of named) {
        if (holds || id === a.id) continue;
        expect(a.x >= x + radius || x - radius >= a.right || a.y >= y + radius || y - radius >= a.bottom).toBe(true);
      }
    }
  });

  test("keeps names of containers off other borders if there is space", () => {
    const outer: Named = { id: 1, x: 300, y: 300, radius: 200, width: 40, height: 15, holds: true, must: false };
    const inner: Named = { ...outer, id: 2, y: 180, radius: 60 };
    const of = (height: number, ...named: Named[]): number | undefined =>
      placeNames(named, 600, height).find(({ id }) => id === 1)?.y;
    // Inside its top, above it if the inner container begins there, and inside again if the frame ends at its border.
    expect(of(600, outer)).toBe(119.5);
    expect(of(600, outer, inner)).toBe(91.5);
    const [up, within] = [
      { ...outer, y: 200 },
      { ...inner, y: 80 },
    ];
    expect(of(400, up, within)).toBe(19.5);
  });
});

test("hull contains all circles", () => {
  const choose = random(8);
  const circles = Array.from({ length: 20 }, () => ({
    x: choose.below(100),
    y: choose.below(100),
    radius: 1 + choose.below(5),
  }));
  const outline = hull(circles, 2);
  outline.forEach((a, at) => {
    const b = outline[(at + 1) % outline.length] ?? a;
    const length = Math.hypot(b.x - a.x, b.y - a.y);
    for (const { x, y, radius } of circles) {
      const aside = ((b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x)) / length;
      expect(aside).toBeGreaterThanOrEqual(radius);
    }
  });
});

describe("camera", () => {
  test("zoomAt keeps the point in place, and fit() shows everything", () => {
    const camera = new Camera(500);
    [camera.width, camera.height] = [800, 600];
    const at = { x: 200, y: 420 };
    const spot = camera.picture(at);
    camera.zoomAt(3, at);
    expect(camera.screen(spot).x).toBeCloseTo(at.x);
    expect(camera.screen(spot).y).toBeCloseTo(at.y);
    camera.pan(50, -20);
    expect(camera.screen(spot).x).toBeCloseTo(250);
    camera.show({ x: 480, y: 0 });
    expect(camera.screen({ x: 480, y: 0 })).toEqual({ x: 400, y: 300 });
    camera.fit();
    expect(camera.screen({ x: 500, y: 0 }).x).toBeLessThanOrEqual(800);
    expect(camera.moved).toBe(false);
  });
});

describe("board", () => {
  test("eases shapes to their goals and removes missing entities", () => {
    const board = new Board();
    board.show(new Map([1, 2, 3].map((id) => [id, box(id, id === 3 ? 1 : -1)])));
    board.aim([1, 2, 3].map((id) => ({ id, x: 10 * id, y: -id, radius: 5 })));
    expect(board.shapes.get(3)?.depth).toBe(1);
    let frames = 0;
    while (board.ease(16, false)) frames++;
    expect(frames).toBeLessThan(120);
    expect(board.goals()).toHaveLength(3);
    expect(board.shapes.get(2)).toMatchObject({ x: 20, y: -2, radius: 5, alpha: 1 });
    board.show(new Map([[2, box(2)]]));
    while (board.ease(16, false)) frames++;
    expect([...board.shapes.keys()]).toEqual([2]);
    board.aim([{ id: 2, x: 400, y: 0, radius: 5 }]);
    board.ease(16, true);
    expect(board.shapes.get(2)?.x).toBe(400);
  });
});

describe("layout requests", () => {
  test("by forces report while settling, the last time as settled", () => {
    const told: ArrangeAnswer[] = [];
    const work: (() => void)[] = [];
    let now = 0;
    const arranging = new LayoutRequests((one) => told.push(one), (one) => work.push(one), () => now++); // prettier-ignore
    arranging.begin({ number: 7, layout: "force", input: grid(4), from: [], pinned: [] });
    for (let next = work.shift(); next; next = work.shift()) next();
    expect(told.length).toBeGreaterThan(3);
    expect(told.map(({ settled }) => settled)).toEqual([...told.slice(1).map(() => false), true]);
    expect(told.at(-1)).toMatchObject({ number: 7, name: "force", clarity: { cleared: true } });
    // A pinned entity stays at its pin.
    arranging.pin({ pin: 5, spot: { x: 123, y: -45 } });
    for (let next = work.shift(); next; next = work.shift()) next();
    expect(told.at(-1)?.places.find(({ id }) => id === 5)).toMatchObject({
      x: expect.closeTo(123) as number,
      y: expect.closeTo(-45) as number,
    });
  });

  test("continue from the present places", () => {
    const told: ArrangeAnswer[] = [];
    const arranging = new LayoutRequests((one) => told.push(one), (work) => { work(); }); // prettier-ignore
    const input = grid(4);
    arranging.begin({ number: 1, layout: "force", input, from: [], pinned: [] });
    const rest = told.at(-1)?.places ?? [];
    const begun = told.length;
    arranging.begin({ number: 2, layout: "force", input, from: rest, pinned: [] });
    const [first, last] = [told[begun]?.places ?? [], told.at(-1)?.places ?? []];
    for (const [at, place] of rest.entries()) {
      for (const other of [first[at], last[at]]) {
        expect(Math.hypot(place.x - (other?.x ?? NaN), place.y - (other?.y ?? NaN))).toBeLessThan(40);
      }
    }
  });

  test("separate the entities of different containers", () => {
    const told: ArrangeAnswer[] = [];
    const arranging = new LayoutRequests((one) => told.push(one), (work) => { work(); }); // prettier-ignore
    const input = theaters(4, 40);
    arranging.begin({ number: 1, layout: "force", input, from: [], pinned: [] });
    const placeOf = new Map(told.at(-1)?.places.map((place) => [place.id, place]));
    const middle = new Map(
      input.entities.filter(({ container }) => container < 0).map(({ id }) => [id, placeOf.get(id)]),
    );
    for (const { id, container } of input.entities.filter((one) => one.container >= 0)) {
      const at = placeOf.get(id);
      const far = [...middle].map(([of, place]) => ({
        of,
        far: Math.hypot((place?.x ?? 0) - (at?.x ?? 0), (place?.y ?? 0) - (at?.y ?? 0)),
      }));
      far.sort((a, b) => a.far - b.far);
      expect(far[0]?.of).toBe(container);
    }
  });
});
