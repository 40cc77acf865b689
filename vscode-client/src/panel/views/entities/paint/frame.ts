/** Builds a frame of entities: the visible entities and their positions, outer ones before inner ones. */
import type { Spot } from "../layouts/types";
import { type Activity, loadShare } from "../model/activity";
import type { Camera } from "../model/camera";
import { fontFamily } from "../../../ui/canvas/font";
import type { Board } from "./board";
import type { EntityColours } from "./colours";
import type { Pen } from "../../../ui/canvas/pen";
import type { Frame, Seen } from "../drawings/contract";

/** A hand that points at nothing means what is so near, in px. */
const NEAR = 5;

/** What a frame depends on. */
export interface FrameSource extends Pick<Frame, "lit" | "selected" | "hovered"> {
  readonly board: Board;
  readonly camera: Camera;
  readonly activity: Activity;
  readonly palette: EntityColours;
  /** The busiest load that was seen. */
  readonly busiest: number;
}

export function frameOf(source: FrameSource, ground: Pen | undefined, front: Pen): Frame {
  const { camera, activity, palette, busiest, lit, selected, hovered } = source;
  const { scale, width, height } = camera;
  const seen = seenOf(source);
  return {
    ground,
    front,
    seen,
    byId: new Map(seen.map((one) => [one.shape.box.entity, one])),
    holders: new Set(seen.map((one) => one.shape.box.container)),
    talks: { [Symbol.iterator]: () => activity.lines },
    colours: palette,
    load: (entity) => loadShare(activity.load(entity), busiest),
    lit,
    selected,
    hovered,
    width,
    height,
    scale,
    font: fontFamily(),
  };
}

function seenOf({ board, camera }: Pick<FrameSource, "board" | "camera">): Seen[] {
  const { scale } = camera;
  const middle = camera.screen({ x: 0, y: 0 });
  const seen: Seen[] = [];
  for (const shape of board.shapes.values()) {
    if (shape.alpha <= 0.01) continue;
    const { x, y, radius } = shape;
    seen.push({ x: middle.x + x * scale, y: middle.y + y * scale, radius: radius * scale, shape });
  }
  return seen.sort((a, b) => a.shape.depth - b.shape.depth || a.shape.box.entity - b.shape.box.entity);
}

/** The innermost one at a point of the screen. */
export function seenAt(source: Pick<FrameSource, "board" | "camera">, spot: Spot): Seen | undefined {
  return seenOf(source).findLast((one) => {
    const [dx, dy] = [Math.abs(spot.x - one.x), Math.abs(spot.y - one.y)];
    const near = one.radius + NEAR;
    return one.shape.box.holds > 0 ? Math.max(dx, dy) <= one.radius : dx * dx + dy * dy <= near * near;
  });
}
