/** Prints for `benchmarks/layout.py` the time and clarity of each layout of recorded systems, as one JSON object. */
import { readFileSync } from "node:fs";
import { automatic, LAYOUTS, type LayoutName } from "../../src/panel/views/entities/layouts/auto";
import { type Clarity, clarity } from "../../src/panel/views/entities/layouts/clarity";
import { settled } from "../../src/panel/views/entities/layouts/force/force";
import type { EntityInput } from "../../src/panel/views/entities/layouts/types";

const ROUNDS = 5;
const RADIUS = 500;

interface Figures extends Clarity {
  /** Processor time. */
  ms: number;
}

function timed(work: () => unknown): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const begun = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / 1000;
  });
  return times.sort((a, b) => a - b)[ROUNDS >> 1] ?? NaN;
}

function figures(input: EntityInput): object {
  const layouts: Partial<Record<LayoutName, Figures>> = {};
  for (const name of Object.keys(LAYOUTS) as LayoutName[]) {
    layouts[name] = { ms: timed(() => LAYOUTS[name](input)), ...clarity(input, LAYOUTS[name](input)) };
  }
  const { cycles, still } = settled(input);
  return { entities: input.entities.length, layouts, cycles, still, chosen: automatic(input).name };
}

const systems = JSON.parse(readFileSync(0, "utf8")) as Record<string, Omit<EntityInput, "radius">>;
const all = Object.entries(systems).map(([name, system]) => [name, figures({ ...system, radius: RADIUS })]);
console.log(JSON.stringify(Object.fromEntries(all)));
