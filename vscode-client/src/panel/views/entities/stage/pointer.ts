/** The pointer actions on the picture of entities: hover, select, open, drag and pin entities, or move the picture. */
import type { Board } from "../paint/board";
import { seenAt } from "../paint/frame";
import type { EntityDrawing } from "../drawings/contract";
import type { Spot } from "../layouts/types";
import type { Camera } from "../model/camera";
import type { GestureActions } from "./gestures";

/** What they are laid on. */
export interface PointerTarget {
  readonly board: Board;
  readonly camera: Camera;
  readonly drawing: EntityDrawing | undefined;
  readonly hovered: number;
  /** -1 for no entity. */
  hover(entity: number): void;
  zoomBy(factor: number, at?: Spot): void;
  redraw(): void;
  seenAnew(): void;
}

export class StagePointer implements GestureActions {
  private dragged = -1;

  constructor(
    private readonly on: PointerTarget,
    private readonly told: { chosen(entity: number): void; opened(entity: number): void },
  ) {}

  private at(spot: Spot): number {
    return seenAt(this.on, spot)?.shape.box.entity ?? -1;
  }

  hover(spot: Spot | undefined): void {
    const over = spot ? this.at(spot) : -1;
    if (over !== this.on.hovered) this.on.hover(over);
  }

  click(spot: Spot): void {
    this.told.chosen(this.at(spot));
  }

  doubleClick(spot: Spot): void {
    const entity = this.at(spot);
    this.on.drawing?.pin?.(entity, undefined);
    if (entity >= 0) this.told.opened(entity);
  }

  /** Where an entity can be dragged, it is; else the picture. */
  dragBegins(spot: Spot): void {
    const one = this.on.drawing?.pin ? seenAt(this.on, spot) : undefined;
    this.dragged = one?.shape.box.holds === 0 ? one.shape.box.entity : -1;
  }

  drag(spot: Spot, dx: number, dy: number): void {
    const { board, camera, drawing } = this.on;
    if (this.dragged < 0) {
      camera.pan(dx, dy);
      this.on.seenAnew();
      return;
    }
    const to = camera.picture(spot);
    const shape = board.shapes.get(this.dragged);
    if (shape?.goal) {
      // At once under the hand, whatever the layout says later.
      shape.goal = { ...shape.goal, ...to };
      [shape.x, shape.y] = [to.x, to.y];
    }
    drawing?.pin?.(this.dragged, to);
    this.on.redraw();
  }

  zoomBy(factor: number, at: Spot): void {
    this.on.zoomBy(factor, at);
  }
}
