/** The available drawings of entities: the shipped ones and the custom ones of the workspace. */
import { customDrawings } from "./customModules";
import { AUTO } from "./auto";
import { CONCENTRIC } from "./concentric";
import { FORCE } from "./force";
import type { DrawingKind } from "./contract";
import { customKind } from "./custom";
import { UNTANGLED } from "./untangle";

export function drawingKinds(): readonly DrawingKind[] {
  return [AUTO, CONCENTRIC, FORCE, UNTANGLED, ...customDrawings().map(customKind)];
}

/** The clearest where there is none of that name. */
export function drawingKind(name: string): DrawingKind {
  return drawingKinds().find((kind) => kind.name === name) ?? AUTO;
}

/** The one after it, the first after the last. */
export function nextKind(name: string): DrawingKind {
  const kinds = drawingKinds();
  return kinds[(kinds.findIndex((kind) => kind.name === name) + 1) % kinds.length] ?? AUTO;
}
