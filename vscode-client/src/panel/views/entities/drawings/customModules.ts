/**
 * Custom drawings of entities: the exports of their modules, and the registered drawings (docs/views.md).
 *
 * Invariant: names are unique.
 */
import type { EntityBox } from "../../../../shared/protocol";
import type { Talk as Line } from "../layouts/types";

export interface CustomInput {
  boxes: readonly EntityBox[];
  talks: readonly Line[];
  /** Around (0, 0), in which all should be. */
  radius: number;
}

export interface CustomPlace {
  id: number;
  x: number;
  y: number;
  radius: number;
}

/** What `make` gives: `places`, or `draw`, or both. Frames and steps are those of `draw/entities/module.ts`. */
export interface CustomDrawn<Step = unknown, Frame = unknown> {
  places?(input: CustomInput): readonly CustomPlace[];
  handle?(step: Step): void;
  unhandle?(step: Step): void;
  draw?(frame: Frame): void;
}

export interface CustomDrawing {
  of: "entities";
  name: string;
  title: string;
  hint?: string;
  make: () => CustomDrawn;
}

const known = new Map<string, { file: string; own: CustomDrawing }>();

export function customDrawings(): { file: string; own: CustomDrawing }[] {
  return [...known.values()];
}

/** Is the name free? */
export function addCustomDrawing(file: string, own: CustomDrawing): boolean {
  if (known.has(own.name)) return false;
  known.set(own.name, { file, own });
  return true;
}
