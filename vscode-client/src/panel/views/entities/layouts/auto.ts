/**
 * Chooses the clearest layout by its clear lines: lines with fewer than 3 crossings over no entity, minus each entity in a foreign
 * container. Ties go to the layout with the fewest crossings, then to the first one.
 */
import { type Clarity, clarity, isBetter } from "./clarity";
import { concentric } from "./concentric";
import { force } from "./force/force";
import type { Arrange, EntityInput, Place } from "./types";
import { untangle } from "./untangle/untangle";

export const LAYOUTS = { concentric, force, untangled: untangle } satisfies Record<string, Arrange>;
export type LayoutName = keyof typeof LAYOUTS;

export interface Chosen {
  name: LayoutName;
  places: Place[];
  /** Of the layouts that were looked at: those after one that shows all lines clearly are not. */
  figures: Partial<Record<LayoutName, Clarity>>;
}

export function automatic(input: EntityInput): Chosen {
  const figures: Chosen["figures"] = {};
  let best: Chosen | undefined;
  for (const name of Object.keys(LAYOUTS) as LayoutName[]) {
    const places = LAYOUTS[name](input);
    const found = clarity(input, places);
    figures[name] = found;
    const before = best && figures[best.name];
    if (!before || isBetter(found, before)) best = { name, places, figures };
    if (found.cleared) break;
  }
  return best ?? { name: "concentric", places: [], figures };
}
