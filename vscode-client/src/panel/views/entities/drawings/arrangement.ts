/**
 * Requests a new arrangement of entities after a step that changed entities, containers or communication.
 *
 * Invariant: one arrangement is pending at a time, and the last change is followed by an arrangement.
 */
import type { ArrangeAnswer } from "../layouts/requests";
import type { Place, Spot } from "../layouts/types";
import { isMove, type Step } from "../model/state";
import type { EntityDrawing, EntityScene, Frame } from "./contract";

/** Between two arrangements, in ms: eyes have to follow, */
const PAUSE = 300;
/** and more if no entity moved but there are new lines. */
const LONG_PAUSE = 1500;
/** So many times as long as the last one took, a worker has no other. */
const REST = 3;
/** So many more lines, as a part of those there were, are worth another picture. */
const MORE = 0.1;

export class Arrangement {
  private busy = false;
  private wanted = false;
  private timer = 0;
  private began = -Infinity;
  private took = 0;
  private lines = 0;
  private readonly pinned = new Map<number, Place>();

  constructor(
    private readonly scene: EntityScene,
    private readonly layout: ArrangeAnswer["name"] | "auto",
    private readonly told: (answer: ArrangeAnswer) => void = () => undefined,
  ) {
    this.begin();
  }

  consider(step: Step): void {
    if (step.boxes.some(isMove)) this.after(PAUSE);
    else if (this.scene.input().talks.length > this.lines * (1 + MORE)) this.after(LONG_PAUSE);
  }

  pin(id: number, spot: Spot | undefined): void {
    if (spot) this.pinned.set(id, { id, ...spot, radius: 0 });
    else this.pinned.delete(id);
    this.scene.pin(id, spot);
  }

  get pins(): ReadonlyMap<number, Place> {
    return this.pinned;
  }

  close(): void {
    window.clearTimeout(this.timer);
  }

  private after(pause: number): void {
    this.wanted = true;
    if (this.busy) return;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(
      () => {
        this.begin();
      },
      this.began + Math.max(pause, (1 + REST) * this.took) - performance.now(),
    );
  }

  private begin(): void {
    this.busy = true;
    this.wanted = false;
    this.began = performance.now();
    this.lines = this.scene.input().talks.length;
    this.scene.arrange(this.layout, [...this.pinned.values()], (answer) => {
      this.scene.put(answer.places, answer.clarity);
      this.told(answer);
      this.busy = false;
      this.took = performance.now() - this.began;
      if (this.wanted) this.after(PAUSE);
    });
  }
}

/** A drawing that is a layout and how its places are painted. */
export function arranged(
  scene: EntityScene,
  layout: ArrangeAnswer["name"],
  draw: (frame: Frame, arrangement: Arrangement) => void,
): EntityDrawing & { arrangement: Arrangement } {
  const arrangement = new Arrangement(scene, layout);
  const consider = (step: Step): void => {
    arrangement.consider(step);
  };
  return {
    arrangement,
    handle: consider,
    unhandle: consider,
    draw: (frame) => {
      draw(frame, arrangement);
    },
    close: () => {
      arrangement.close();
    },
  };
}
