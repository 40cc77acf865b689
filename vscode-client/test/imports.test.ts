/** The layout of the sources: imports have no cycle, and no folder has too many files. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { expect, test } from "vitest";

const SOURCE = path.join(import.meta.dirname, "../src");
const MOST_FILES = 15;
const modules = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));

/** Lists the imports of values and types, and dynamic imports. */
function importsOf(name: string): string[] {
  const text = readFileSync(path.join(SOURCE, name), "utf8");
  return [...text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].flatMap(([, specifier = ""]) => {
    const file = `${path.join(path.dirname(name), specifier)}.ts`;
    return existsSync(path.join(SOURCE, file)) ? [file] : [];
  });
}

test("source imports have no cycle", () => {
  const imports = new Map(modules.map((name) => [name, importsOf(name)]));
  const done = new Set<string>();
  const visit = (name: string, way: readonly string[]): string[] => {
    if (way.includes(name)) return [...way.slice(way.indexOf(name)), name];
    if (done.has(name)) return [];
    for (const next of imports.get(name) ?? []) {
      const cycle = visit(next, [...way, name]);
      if (cycle.length > 0) return cycle;
    }
    done.add(name);
    return [];
  };
  expect(modules.flatMap((name) => visit(name, []))).toEqual([]);
});

test("source folders have at most 15 files", () => {
  const folders = new Map<string, number>();
  for (const name of modules) folders.set(path.dirname(name), (folders.get(path.dirname(name)) ?? 0) + 1);
  expect([...folders].filter(([, files]) => files > MOST_FILES)).toEqual([]);
});
