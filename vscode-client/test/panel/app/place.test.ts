/** Places in the panel: they survive encoding into the address, and the trail leads back through them. */
import { describe, expect, test } from "vitest";
import { Answers } from "../../../src/panel/app/answerCache";
import { askedOf, decode, encode, type Place, sameQuestion, startingPlace } from "../../../src/panel/app/place";
import { current, replaced, stepped, extended, savedTrail, startTrail } from "../../../src/panel/app/trail";
import { VIEWS as views } from "../../../src/panel/views/registry";
import { random } from "../../support/random";

function place(view: string, asked: object, looks: Partial<Place> = {}): Place {
  return { ...startingPlace(views), view, asked: { [view]: asked }, ...looks };
}

const PLACES: Place[] = [
  place("slice", { target: { text: "Write request failed: 50% & more" }, run: "r", level: "module" }),
  place("slice", { target: { location: { path: "/a b/c.py", line: 7 } }, direction: "forward", maxNodes: 600 }),
  place("slice", { target: { event: 0 }, showPath: true }, { flow: "right", search: "lookup" }),
  place("slice", { target: { line: "2026-11-21 12:00:00 ERROR  x & y" } }),
  place("path", { target: { function: "pkg.mod:Class.method" }, level: "process" }),
  place("diff", { before: "one", after: "two", level: "module", maxRows: 500 }),
  place("patterns", { run: "r", strand: "worker", calls: 5, times: 3, maxPatterns: 90 }),
  place("timeline", { run: "r", strand: "worker", fromNs: 0, toNs: 8_985_600_000_000_000 }),
  place("suspects", { suspect: ["a"] }),
  place("suspects", { suspect: ["a"], reference: [], request: "read" }),
  place("suspects", { suspect: ["a", "b"], reference: ["c"], maxSuspects: 70 }),
  place("compare", { before: ["one", "two"], after: ["three@7"] }),
  place("compare", { before: ["a"], after: ["b"], request: "read", category: "read:1f", precursor: "d", maxRows: 9 }),
];

describe("place", () => {
  test.each(PLACES.map((one) => [encode(one, views), one] as const))("survives encode and decode: %s", (text, one) => {
    expect(decode(text, views)).toEqual(one);
  });

  test.each(["", "view=nonsense", "event=-1&line=x", "%%%", "nodes=1e9&flow=up"])(
    "decode of any text is a valid place: %s",
    (text) => {
      const made = decode(text, views);
      expect(decode(encode(made, views), views)).toEqual(made);
      expect(made.view).toBe("slice");
    },
  );

  test("sameQuestion ignores flow and search", () => {
    const one = place("slice", { target: {} });
    expect(sameQuestion(one, { ...one, flow: "right", search: "x" }, views)).toBe(true);
    expect(sameQuestion(one, place("slice", { target: { event: 3 } }), views)).toBe(false);
  });

  test("decode keeps the questions of other views", () => {
    const before = place("diff", { before: "a", after: "b" });
    const after = decode("view=path&event=7", views, before);
    expect([after.view, after.asked.diff]).toEqual(["path", { before: "a", after: "b" }]);
  });

  test("askedOf a new view is its start question", () => {
    for (const view of views) {
      const asked = askedOf(place(view.name, view.question.start), view);
      expect(decode(encode(place(view.name, asked), views), views).asked[view.name]).toEqual(view.question.start);
      expect(view.describe(asked)).not.toBe("");
    }
  });
});

describe("view question", () => {
  const odd: unknown[] = [undefined, null, 7, "text", [], {}, { target: 7 }, { target: { event: -1 } }, { before: 3 }];

  test.each(views)("valid() of any JSON is a valid question: $name", (view) => {
    const next = random(7);
    const pick = (): unknown => odd[next.below(odd.length)];
    for (let round = 0; round < 200; round += 1) {
      const names = [
        "target",
        "run",
        "level",
        "before",
        "after",
        "suspect",
        "maxNodes",
        "direction",
        "calls",
        "pattern",
      ];
      const json = Object.fromEntries(names.filter(() => next.below(2) === 0).map((name) => [name, pick()]));
      const made = view.question.valid(json);
      expect(view.question.valid(made)).toEqual(made);
      expect(decode(encode(place(view.name, made), views), views).view).toBe(view.name);
    }
    for (const json of odd.slice(0, 6)) expect(view.question.valid(json)).toEqual(view.question.start);
  });

  test.each(PLACES.map((one) => [one.view, one.asked[one.view]] as const))(
    "valid() of a question of %s is unchanged",
    (name, asked) => {
      expect(views.find((view) => view.name === name)?.question.valid(asked)).toEqual(asked);
    },
  );

  test("inRun of another run drops only the event number", () => {
    const slice = views.find((view) => view.name === "slice");
    expect(slice?.inRun?.({ target: { event: 3 }, run: "old", level: "module" }, "new")).toEqual({
      target: {},
      run: "new",
      level: "module",
    });
    expect(slice?.inRun?.({ target: { text: "x" }, run: "old" }, "")).toEqual({ target: { text: "x" } });
  });

  test("following of the critical path takes target and run from the slice", () => {
    const path = views.find((view) => view.name === "path");
    expect(
      path?.following?.("slice", { target: { event: 3 }, run: "r", level: "event", maxNodes: 9 }, undefined),
    ).toEqual({
      target: { event: 3 },
      run: "r",
    });
    expect(path?.following?.("diff", {}, undefined)).toBeUndefined();
  });

  test("names and keys of views are unique", () => {
    for (const names of [views.map((view) => view.name), views.map((view) => view.key).filter(Boolean)]) {
      expect(new Set(names).size).toBe(names.length);
    }
  });
});

describe("trail", () => {
  test("steps back and forward, and a new step drops the later ones", () => {
    let trail = extended(extended(startTrail("a"), "b"), "c");
    const back = stepped(trail, -2);
    expect(back && current(back)).toBe("a");
    expect(stepped(trail, 1)).toBeUndefined();
    expect(stepped(trail, -3)).toBeUndefined();
    trail = extended(stepped(trail, -1) ?? trail, "d");
    expect(trail).toEqual({ states: ["a", "b", "d"], at: 2 });
    expect(replaced(trail, "e").states).toEqual(["a", "b", "e"]);
  });

  test("over its limit drops the oldest steps", () => {
    let trail = startTrail("0");
    for (let step = 1; step < 200; step += 1) trail = extended(trail, String(step));
    expect([trail.states.length, current(trail), trail.at]).toEqual([51, "199", 50]);
  });

  test.each([null, "x", {}, { states: ["a"], at: 1 }, { states: [1], at: 0 }, { states: [], at: 0 }])(
    "savedTrail of invalid JSON is undefined: %j",
    (value) => {
      expect(savedTrail(value)).toBeUndefined();
    },
  );
});

test("answer cache recalls by method and parameters until it is cleared", () => {
  const answers = new Answers();
  answers.keep("clew/slice", { target: { event: 1 } }, "one");
  answers.keep("clew/slice", { target: { event: 2 } }, "two");
  expect(answers.recall("clew/slice", { target: { event: 1 } })).toBe("one");
  expect(answers.recall("clew/criticalPath", { target: { event: 1 } })).toBeUndefined();
  for (let event = 3; event < 40; event += 1) answers.keep("clew/slice", { target: { event } }, event);
  expect(answers.recall("clew/slice", { target: { event: 1 } })).toBeUndefined();
  expect(answers.recall("clew/slice", { target: { event: 39 } })).toBe(39);
  answers.forget();
  expect(answers.recall("clew/slice", { target: { event: 39 } })).toBeUndefined();
});
