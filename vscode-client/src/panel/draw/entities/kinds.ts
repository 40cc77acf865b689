/** The ways to draw entities that there are: the panel's own, and those of the workspace. */
import { ownDrawings } from "../../model/entities/own";
import { AUTO } from "./auto";
import { CONCENTRIC } from "./concentric";
import { FORCE } from "./force";
import type { DrawingKind } from "./module";
import { ownKind } from "./own";
import { UNTANGLED } from "./untangled";

export function drawingKinds(): readonly DrawingKind[] {
  return [AUTO, CONCENTRIC, FORCE, UNTANGLED, ...ownDrawings().map(ownKind)];
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
