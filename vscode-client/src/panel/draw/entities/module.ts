/**
 * What a way to draw entities is: told of each step forward and back, asked for each frame; and what it may use for that.
 *
 * Invariant: a drawing knows entities by what it was told and what stands in the scene, and asks nobody else.
 */
import type { EntityBox } from "../../../shared/protocol";
import type { Clarity, Spot } from "../../layout/entities/clarity";
import type { ArrangeAnswer } from "../../layout/entities/arranging";
import type { EntityInput, Place } from "../../layout/entities/types";
import type { Talk } from "../../model/entities/activity";
import type { Step } from "../../model/entities/state";
import type { Pen } from "../pen";
import type { Shape } from "./board";
import type { EntityColours } from "./colours";

/** Where something is on the screen, in px. */
export interface Seen extends Spot {
  radius: number;
  shape: Shape;
}

export interface Frame {
  /** For what seldom changes; undefined where it is as it was. */
  ground: Pen | undefined;
  /** For entities and their names, anew in each frame. */
  front: Pen;
  /** The outermost first. */
  seen: readonly Seen[];
  byId: ReadonlyMap<number, Seen>;
  /** Those in which another one is seen. */
  holders: ReadonlySet<number>;
  /** All lines that there are, used or not, which the view draws on the ground. */
  talks: Iterable<Talk>;
  colours: EntityColours;
  /** How busy one is, from 0 to 1. */
  load: (entity: number) => number;
  /** Names that are searched for; undefined: none are. */
  lit: ReadonlySet<number> | undefined;
  selected: number;
  hovered: number;
  width: number;
  height: number;
  /** Px of the screen for each px of a place. */
  scale: number;
  font: string;
}

export interface EntityDrawing {
  /** After a step forward. Communications are drawn by the view, between where their ends are. */
  handle(step: Step): void;
  /** After one back. */
  unhandle(step: Step): void;
  draw(frame: Frame): void;
  /** Does it draw the lines that there are itself, or none? */
  readonly hasLines?: boolean;
  /** Holds an entity where it is put, or lets go of it; only where `draw` asks for that. */
  pin?(entity: number, spot: Spot | undefined): void;
  /** In words, where it chose how to draw. */
  said?(): string;
  close?(): void;
}

/** What a drawing may use. Places are around (0, 0), within `radius`. */
export interface EntityScene {
  readonly boxes: ReadonlyMap<number, EntityBox>;
  readonly radius: number;
  input(): EntityInput;
  /** Where they go from where they are. */
  places(): readonly Place[];
  put(places: readonly Place[], clarity: Clarity | undefined): void;
  arrange(
    layout: ArrangeAnswer["name"] | "auto",
    pinned: readonly Place[],
    told: (answer: ArrangeAnswer) => void,
  ): void;
  pin(entity: number, spot: Spot | undefined): void;
  redraw(): void;
  /** Tells the user. */
  failed(error: unknown): void;
}

export interface DrawingKind {
  name: string;
  title: string;
  hint: string;
  make(scene: EntityScene): EntityDrawing;
}
