/** What hand and wheel do to the picture of entities: point at somebody, choose, open, drag and pin them, or move the picture. */
import type { Board } from "../draw/entities/board";
import { seenAt } from "../draw/entities/frame";
import type { EntityDrawing } from "../draw/entities/module";
import type { Spot } from "../layout/entities/clarity";
import type { Camera } from "../model/entities/camera";
import type { EntityHands } from "./entityGestures";

/** What they are laid on. */
export interface Touched {
  readonly board: Board;
  readonly camera: Camera;
  readonly drawing: EntityDrawing | undefined;
  readonly hovered: number;
  /** -1 for nobody. */
  hover(entity: number): void;
  zoomBy(factor: number, at?: Spot): void;
  redraw(): void;
  seenAnew(): void;
}

export class StageHands implements EntityHands {
  private dragged = -1;

  constructor(
    private readonly on: Touched,
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
