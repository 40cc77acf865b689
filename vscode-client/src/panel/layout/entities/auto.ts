/**
 * Chooses the layout that shows most clearly: lines with fewer than 3 crossings over no entity, less each entity in a foreign container.
 * Of equals the one that crosses least, then the first.
 */
import { type Clarity, clarity, isBetter } from "./clarity";
import { concentric } from "./concentric";
import { force } from "./force";
import type { Arrange, EntityInput, Place } from "./types";
import { untangled } from "./untangled";

export const LAYOUTS = { concentric, force, untangled } satisfies Record<string, Arrange>;
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
