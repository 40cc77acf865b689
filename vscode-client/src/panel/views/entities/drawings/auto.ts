/** The drawing with the clearest lines for the shown entities, chosen again after each change. */
import type { LayoutName } from "../layouts/auto";
import type { Step } from "../model/state";
import { Arrangement } from "./arrangement";
import { CONCENTRIC, drawConcentric } from "./concentric";
import { drawForce, FORCE } from "./force";
import type { DrawingKind, EntityDrawing, EntityScene, Frame } from "./contract";
import { drawUntangled, UNTANGLED } from "./untangle";

const DRAWN: Record<LayoutName, { kind: DrawingKind; draw: (frame: Frame) => void }> = {
  concentric: { kind: CONCENTRIC, draw: drawConcentric },
  force: { kind: FORCE, draw: drawForce },
  untangled: { kind: UNTANGLED, draw: drawUntangled },
};

class Auto implements EntityDrawing {
  private chosen: LayoutName = "concentric";
  private readonly arrangement: Arrangement;

  constructor(scene: EntityScene) {
    this.arrangement = new Arrangement(scene, "auto", ({ name }) => {
      if (name !== "given" && name !== this.chosen) {
        this.chosen = name;
        scene.redraw();
      }
    });
  }

  handle(step: Step): void {
    this.arrangement.consider(step);
  }

  unhandle(step: Step): void {
    this.arrangement.consider(step);
  }

  draw(frame: Frame): void {
    DRAWN[this.chosen].draw(frame);
  }

  said(): string {
    return DRAWN[this.chosen].kind.title;
  }

  close(): void {
    this.arrangement.close();
  }
}

export const AUTO: DrawingKind = {
  name: "auto",
  title: "Clearest",
  hint: "The layout that shows the most lines clearly",
  make: (scene) => new Auto(scene),
};
