/**
 * Drawings of entities that a workspace brings along: what their modules export, and which there are (docs/views.md).
 *
 * Invariant: a name is there once.
 */
import type { EntityBox } from "../../../shared/protocol";
import type { Talk as Line } from "../../layout/entities/types";

export interface OwnInput {
  boxes: readonly EntityBox[];
  talks: readonly Line[];
  /** Around (0, 0), in which all should be. */
  radius: number;
}

export interface OwnPlace {
  id: number;
  x: number;
  y: number;
  radius: number;
}

/** What `make` gives: `places`, or `draw`, or both. Frames and steps are those of `draw/entities/module.ts`. */
export interface OwnDrawn<Step = unknown, Frame = unknown> {
  places?(input: OwnInput): readonly OwnPlace[];
  handle?(step: Step): void;
  unhandle?(step: Step): void;
  draw?(frame: Frame): void;
}

export interface OwnDrawing {
  of: "entities";
  name: string;
  title: string;
  hint?: string;
  make: () => OwnDrawn;
}

const known = new Map<string, { file: string; own: OwnDrawing }>();

export function ownDrawings(): { file: string; own: OwnDrawing }[] {
  return [...known.values()];
}

/** Is the name free? */
export function addOwnDrawing(file: string, own: OwnDrawing): boolean {
  if (known.has(own.name)) return false;
  known.set(own.name, { file, own });
  return true;
}
