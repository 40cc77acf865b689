/** Facts about a workspace's own views: what is none is said so, and what it is asked goes through the address. */
import { describe, expect, test } from "vitest";
import { anyJson, register } from "../../../../src/panel/views/custom/loader";
import { decode, encode, startingPlace } from "../../../../src/panel/app/place";
import { ViewRegistry } from "../../../../src/panel/views/registry";

const make = (): { draw: () => string } => ({ draw: () => "" });

const registry = new ViewRegistry([]);

describe("a module", () => {
  test.each([
    [{}, "export default"],
    [{ default: { title: "x", make } }, "`name` must be a non-empty string"],
    [{ default: { name: "x", title: "", make } }, "`title` must be a non-empty string"],
    [{ default: { name: "x", title: "X" } }, "`make` must be a function"],
    [{ default: { name: "x", title: "X", make, start: [] } }, "`start` must be an object"],
  ])("that is no view is named with the reason: %j", (module, reason) => {
    expect(() => {
      register(registry, "mine.js", module);
    }).toThrow(new RegExp(`mine\\.js.*${reason}`));
    expect(registry.all).toEqual([]);
  });

  test("is registered once under its name, apart from the panel's own", () => {
    register(registry, "mine.js", { default: { name: "slice", title: "Mine", make, start: { like: "" } } });
    expect(registry.all.map((kind) => [kind.name, kind.hint, kind.key])).toEqual([["own:slice", "Mine", ""]]);
    expect(() => {
      register(registry, "other.js", { default: { name: "slice", title: "Other", make } });
    }).toThrow(/other\.js.*already/);
  });

  test("is asked what the address says", () => {
    const kinds = registry.all;
    const asked = { like: "a & b", run: "r" };
    const place = { ...startingPlace(kinds), asked: { "own:slice": asked } };
    expect(decode(encode(place, kinds), kinds)).toEqual(place);
    expect(encode({ ...place, asked: {} }, kinds)).toBe("view=own%3Aslice");
    expect(kinds[0]?.inRun?.(asked, "s")).toEqual({ like: "a & b", run: "s" });
  });
});

test.each(["", "asked=7", "asked=%7B", "asked=[1]", "asked=null"])(
  "words that are no question ask the first: %s",
  (text) => {
    expect(anyJson({ a: 1 }).decode(new URLSearchParams(text))).toEqual({ a: 1 });
  },
);

test("a place of a view that may come later waits for it", () => {
  expect(decode("view=own:later&search=x", []).view).toBe("own:later");
});
