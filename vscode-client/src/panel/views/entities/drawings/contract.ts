/**
 * The interface of entity drawings: a drawing handles each step forward and back, draws each frame, and may use the scene.
 *
 * Invariant: a drawing knows entities only from the steps that it handled and from the scene.
 */
import type { EntityBox } from "../../../../shared/protocol";
import type { Clarity } from "../layouts/clarity";
import type { ArrangeAnswer } from "../layouts/requests";
import type { EntityInput, Place, Spot } from "../layouts/types";
import type { Talk } from "../model/activity";
import type { Step } from "../model/state";
import type { Pen } from "../../../ui/canvas/pen";
import type { Shape } from "../paint/board";
import type { EntityColours } from "../paint/colours";

/** Where something is on the screen, in px. */
export interface Seen extends Spot {
  radius: number;
  shape: Shape;
}

export interface Frame {
  /** For what seldom changes; undefined where it is as it was. */
  ground: Pen | undefined;
  /** For entities and their names, cleared in each frame. */
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
  /** Pins an entity to a position, or unpins it; only if `draw` asks for that. */
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
