/** The colours of theme.css are readable on their background, and differ with any colour vision. */
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { describe, expect, test } from "vitest";
import { inkOn, shadesOf } from "../../../../src/panel/views/entities/paint/colours";

type Rgb = readonly [number, number, number];

const css = readFileSync(path.join(import.meta.dirname, "../../../../src/panel/ui/styles/theme.css"), "utf8");

/** Returns the variables of the first rule with exactly this selector. */
function variables(selector: string): ReadonlyMap<string, string> {
  const start = css.indexOf(`\n${selector} {`);
  if (start < 0) throw new Error(`theme.css has no rule for ${selector}`);
  const body = css.slice(start, css.indexOf("\n}", start));
  return new Map([...body.matchAll(/(--[\w-]+): (#[0-9a-f]{6});/g)].map(([, name = "", value = ""]) => [name, value]));
}

function rgb(hex: string): Rgb {
  const part = (at: number): number => Number.parseInt(hex.slice(at, at + 2), 16) / 255;
  return [part(1), part(3), part(5)];
}

const linear = (value: number): number => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const luminance = ([r, g, b]: Rgb): number => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);

/** Returns the contrast as WCAG 2 defines it. */
function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [luminance(rgb(a)), luminance(rgb(b))].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** Viénot, Brettel and Mollon 1999, on linear light. */
const VISIONS: Readonly<Record<string, readonly (readonly number[])[]>> = {
  full: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  deuteranopia: [
    [0.29275, 0.70725, 0],
    [0.29275, 0.70725, 0],
    [-0.02234, 0.02234, 1],
  ],
  protanopia: [
    [0.11238, 0.88762, 0],
    [0.11238, 0.88762, 0],
    [0.00401, -0.00401, 1],
  ],
};

/** CIE L*a*b* under D65. */
function lab(hex: string, vision: string): number[] {
  const light = rgb(hex).map(linear);
  const [r = 0, g = 0, b = 0] = (VISIONS[vision] ?? []).map((row) =>
    row.reduce((sum, weight, at) => sum + weight * (light[at] ?? 0), 0),
  );
  const f = (value: number): number => (value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116);
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
  const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** CIE 1976: 2.3 is just noticeable. */
function distance(a: string, b: string, vision: string): number {
  const [one, other] = [lab(a, vision), lab(b, vision)];
  return Math.hypot(...one.map((value, at) => value - (other[at] ?? 0)));
}

const THEMES = [
  ["light", variables("body"), "#ffffff"],
  ["dark", variables("body:where(.vscode-dark, .vscode-high-contrast:not(.vscode-high-contrast-light))"), "#181b20"],
] as const;

describe.each(THEMES)("%s theme", (_name, found, ground) => {
  const colour = (name: string): string => {
    const value = found.get(name);
    if (!value) throw new Error(`theme.css has no ${name}`);
    return value;
  };
  const processes = [0, 1, 2, 3, 4, 5, 6, 7].map((number) => colour(`--p${number}`));

  test("text colours have a contrast of 4.5 to the background", () => {
    for (const name of ["--chain", "--path", "--before", "--after", "--gap"]) {
      expect([name, contrast(colour(name), ground) >= 4.5]).toEqual([name, true]);
    }
  });

  test("line and area colours have a contrast of 3 to the background", () => {
    for (const value of [...processes, colour("--edge-strong")]) {
      expect([value, contrast(value, ground) >= 3]).toEqual([value, true]);
    }
  });

  test.each(Object.keys(VISIONS))("colours of before and after, chain and path differ with %s vision", (vision) => {
    for (const [a, b] of [
      ["--before", "--after"],
      ["--chain", "--path"],
    ] as const) {
      expect([a, distance(colour(a), colour(b), vision) >= 40]).toEqual([a, true]);
    }
  });

  test.each(Object.keys(VISIONS))("colours of processes differ with %s vision", (vision) => {
    const close: string[] = [];
    processes.forEach((a, at) => {
      for (const b of processes.slice(at + 1)) {
        if (distance(a, b, vision) < 10) close.push(`${a} ${b} ${distance(a, b, vision).toFixed(1)}`);
      }
    });
    expect(close).toEqual([]);
  });
});

test("dark theme of the browser equals that of the editor", () => {
  const dark = THEMES[1][1];
  const start = css.lastIndexOf("@media (prefers-color-scheme: dark)");
  const again = new Map(
    [...css.slice(start).matchAll(/(--[\w-]+): (#[0-9a-f]{6});/g)].map(([, name = "", value = ""]) => [name, value]),
  );
  for (const [name, value] of dark) expect([name, again.get(name)]).toEqual([name, value]);
});

test("entity names have a contrast of 4.5 to every shade of their circle", () => {
  const hex = (shade: Rgb): string =>
    `#${shade.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
  for (const shade of [...shadesOf(false), ...shadesOf(true)]) {
    expect([hex(shade), contrast(hex(shade), inkOn(shade)) >= 4.5]).toEqual([hex(shade), true]);
  }
});
