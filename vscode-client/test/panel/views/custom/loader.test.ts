/** Custom views: invalid modules are reported, and their questions survive the address. */
import { describe, expect, test } from "vitest";
import { anyJson, register } from "../../../../src/panel/views/custom/loader";
import { decode, encode, startingPlace } from "../../../../src/panel/app/place";
import { ViewRegistry } from "../../../../src/panel/views/registry";

const make = (): { draw: () => string } => ({ draw: () => "" });

const registry = new ViewRegistry([]);

describe("custom view module", () => {
  test.each([
    [{}, "export default"],
    [{ default: { title: "x", make } }, "`name` must be a non-empty string"],
    [{ default: { name: "x", title: "", make } }, "`title` must be a non-empty string"],
    [{ default: { name: "x", title: "X" } }, "`make` must be a function"],
    [{ default: { name: "x", title: "X", make, start: [] } }, "`start` must be an object"],
  ])("that is invalid is refused with the reason: %j", (module, reason) => {
    expect(() => {
      register(registry, "mine.js", module);
    }).toThrow(new RegExp(`mine\\.js.*${reason}`));
    expect(registry.all).toEqual([]);
  });

  test("is registered once, under a name of its own", () => {
    register(registry, "mine.js", { default: { name: "slice", title: "Mine", make, start: { like: "" } } });
    expect(registry.all.map((kind) => [kind.name, kind.hint, kind.key])).toEqual([["own:slice", "Mine", ""]]);
    expect(() => {
      register(registry, "other.js", { default: { name: "slice", title: "Other", make } });
    }).toThrow(/other\.js.*already/);
  });

  test("question survives the address", () => {
    const kinds = registry.all;
    const asked = { like: "a & b", run: "r" };
    const place = { ...startingPlace(kinds), asked: { "own:slice": asked } };
    expect(decode(encode(place, kinds), kinds)).toEqual(place);
    expect(encode({ ...place, asked: {} }, kinds)).toBe("view=own%3Aslice");
    expect(kinds[0]?.inRun?.(asked, "s")).toEqual({ like: "a & b", run: "s" });
  });
});

test.each(["", "asked=7", "asked=%7B", "asked=[1]", "asked=null"])(
  "anyJson decode of invalid text is the start question: %s",
  (text) => {
    expect(anyJson({ a: 1 }).decode(new URLSearchParams(text))).toEqual({ a: 1 });
  },
);

test("decode of a custom view that is not loaded keeps its name", () => {
  expect(decode("view=own:later&search=x", []).view).toBe("own:later");
});
