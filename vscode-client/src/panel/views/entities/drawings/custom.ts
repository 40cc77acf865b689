/**
 * Runs a custom drawing of entities, isolated from the view around it.
 *
 * Invariant: an error of the custom code is reported once, and the concentric drawing replaces it.
 */
import type { CustomDrawing, CustomDrawn } from "./customModules";
import { CUSTOM_PREFIX as OWN } from "../../../app/place";
import { isMove, type Step } from "../model/state";
import { CONCENTRIC } from "./concentric";
import type { DrawingKind, EntityDrawing, EntityScene, Frame } from "./contract";
import { drawUntangled } from "./untangle";

class OwnEntities implements EntityDrawing {
  private made: CustomDrawn<Step, Frame> | undefined;
  private instead: EntityDrawing | undefined;

  constructor(
    private readonly file: string,
    own: CustomDrawing,
    private readonly scene: EntityScene,
  ) {
    this.guarded(() => {
      this.made = own.make();
    });
    this.place();
  }

  handle(step: Step): void {
    this.guarded(() => this.made?.handle?.(step));
    this.after(step);
    this.instead?.handle(step);
  }

  unhandle(step: Step): void {
    this.guarded(() => this.made?.unhandle?.(step));
    this.after(step);
    this.instead?.unhandle(step);
  }

  draw(frame: Frame): void {
    const { made } = this;
    if (made?.draw) {
      this.guarded(() => made.draw?.(frame));
      if (!this.instead) return;
    }
    if (this.instead) this.instead.draw(frame);
    else drawUntangled(frame);
  }

  get hasLines(): boolean {
    return this.made?.draw !== undefined;
  }

  close(): void {
    this.instead?.close?.();
  }

  private after(step: Step): void {
    if (step.boxes.some(isMove) || step.lines.length > 0) this.place();
  }

  private place(): void {
    const { scene, made } = this;
    if (!made?.places) {
      if (made && !made.draw) this.fail("the object that `make` returns has neither `places` nor `draw`");
      return;
    }
    this.guarded(() => {
      const { talks, radius } = scene.input();
      const places = made.places?.({ boxes: [...scene.boxes.values()], talks, radius }) ?? [];
      const wrong = places.find(({ x, y, radius: size }) => ![x, y, size].every(Number.isFinite));
      if (wrong) throw new Error(`the place of entity ${String(wrong.id)} must have the numbers x, y and radius`);
      scene.put(places, undefined);
      scene.arrange("given", [], (answer) => {
        scene.put(answer.places, answer.clarity);
      });
    });
  }

  private guarded(run: () => void): void {
    if (this.instead) return;
    try {
      run();
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    }
  }

  private fail(reason: string): void {
    this.made = undefined;
    this.instead = CONCENTRIC.make(this.scene);
    this.scene.failed(`Custom drawing ${this.file} failed: ${reason}. Fix the drawing, then reload the panel.`);
  }
}

export function customKind({ file, own }: { file: string; own: CustomDrawing }): DrawingKind {
  const { name, title, hint = title } = own;
  return { name: OWN + name, title, hint, make: (scene) => new OwnEntities(file, own, scene) };
}
