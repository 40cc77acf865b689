/** The drawings of entities by name: the panel's own, and those that a workspace brings along. */
import { AUTO } from "./auto";
import { CONCENTRIC } from "./concentric";
import { FORCE } from "./force";
import type { DrawingKind } from "./module";
import { UNTANGLED } from "./untangled";

export const DRAWINGS: readonly DrawingKind[] = [AUTO, CONCENTRIC, FORCE, UNTANGLED];
