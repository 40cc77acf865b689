/**
 * The three canvases of entities and their dirty state: containers and lines, fading communication, entities with names.
 *
 * Invariant: a layer is repainted only if its contents changed.
 */
import type { Activity, Talk } from "../model/activity";
import { KnownLines } from "./knownLines";
import type { EntityDrawing, Frame } from "../drawings/contract";
import { paintKnown } from "./shapes";
import { Pulses } from "./pulses";
import { SvgPen } from "../../../ui/canvas/svgPen";
import { FadingLines } from "./fadingLines";

/** Number of lines that are all repainted while entities move; of more lines the old ones fade in place. */
const FEW_LINES = 500;

/** Of the ground, of trails and of the front. */
export type Pens = readonly [
  ground: CanvasRenderingContext2D,
  trails: CanvasRenderingContext2D,
  front: CanvasRenderingContext2D,
];

/** The activity at the time of a frame. */
export interface Pace {
  /** Of the page's clock, in ms, and since the last frame. */
  now: number;
  ms: number;
  playing: boolean;
  /** Is anybody on the way? */
  moving: boolean;
  /** Is there no time left for what can wait? */
  isFull: boolean;
}

export class Layers {
  private readonly trails = new FadingLines();
  private readonly pulses = new Pulses();
  private readonly known = new KnownLines();
  private groundOld = true;
  private trailsOld = true;

  /** Containers changed their look or their position. */
  changeGround(): void {
    this.groundOld = true;
  }

  changeLines(): void {
    this.known.change();
  }

  /** Another part is seen, or in other colours. */
  changeAll(): void {
    this.groundOld = true;
    this.trailsOld = true;
    this.known.forget();
  }

  /** Somebody talked; `runs`: points run along the lines. */
  use(talks: readonly Talk[], runs: boolean): void {
    this.trails.add(talks);
    if (runs) this.pulses.add(talks, performance.now());
  }

  /** What runs along lines is of no interest any more. */
  rest(): void {
    this.pulses.forget();
  }

  /** Is there more to be painted in the next frame? */
  paint(pens: Pens, frame: Frame, activity: Activity, drawing: EntityDrawing | undefined, pace: Pace): boolean {
    const [ground, trails, front] = pens;
    const { now, ms, playing, moving, isFull } = pace;
    const { width, height } = frame;
    const hasKnown = drawsKnown(drawing);
    if (hasKnown && this.known.paint(frame, ground.canvas, now, isFull)) this.groundOld = true;
    if (this.groundOld) {
      ground.clearRect(0, 0, width, height);
      frame.ground = ground;
    }
    front.clearRect(0, 0, width, height);
    let shown = true;
    if (this.trailsOld || (moving && activity.size <= FEW_LINES)) {
      trails.clearRect(0, 0, width, height);
      this.trails.paint(trails, frame, activity);
    } else {
      if (playing) this.trails.fade(trails, width, height, ms);
      shown = this.trails.paintNew(trails, frame, activity, isFull);
    }
    drawing?.draw(frame);
    if (this.groundOld && hasKnown) this.known.put(ground, frame);
    this.groundOld = this.trailsOld = false;
    const running = this.pulses.draw(front, frame, now);
    return running || !shown || (hasKnown && this.known.isLate);
  }
}

function drawsKnown(drawing: EntityDrawing | undefined): boolean {
  return drawing !== undefined && drawing.hasLines !== true;
}

/** The picture as a file; `framed` gives a frame that is drawn with such pens. */
export function svgOf(
  framed: (ground: SvgPen, front: SvgPen) => Frame,
  activity: Activity,
  drawing: EntityDrawing | undefined,
): { text: string; width: number; height: number } {
  const [ground, trails, front] = [new SvgPen(), new SvgPen(), new SvgPen()];
  const frame = framed(ground, front);
  drawing?.draw(frame);
  if (drawsKnown(drawing)) paintKnown(ground, frame, frame.talks, activity.size);
  new FadingLines().paint(trails, frame, activity);
  const { width, height } = frame;
  return { text: SvgPen.file([ground, trails, front], width, height, frame.colours.paper), width, height };
}
