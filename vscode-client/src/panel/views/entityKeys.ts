/** What keys do in the entities view: time goes on and back, entities are gone through, the picture is looked at closer. */
import { CLOSER } from "../draw/zoomControls";
import type { EntityPlayer } from "./entityPlayer";
import type { EntitiesStage } from "./entitiesStage";

/** What the view does beside its player and its stage. */
export interface KeyedView {
  readonly player: EntityPlayer;
  readonly stage: EntitiesStage;
  step(by: number): Promise<void>;
  faster(by: 1 | -1): void;
  /** The entity before or after the selected one, containers before what is in them. */
  neighbour(by: 1 | -1): void;
  choose(entity: number): void;
  enter(entity: number): void;
  out(): void;
  nextLayout(): void;
}

const SHIFTED = 100;

/** False for a key that means nothing here. */
export function pressed({ key, shiftKey, target }: KeyboardEvent, view: KeyedView): boolean {
  const { player, stage } = view;
  // A button that has the focus is pressed by these.
  if ((key === " " || key === "Enter") && target instanceof HTMLButtonElement) return false;
  const many = shiftKey ? SHIFTED : 1;
  const acts: Record<string, () => void> = {
    " ": () => {
      if (player.playing !== 0 || player.following) player.pause();
      else player.play(shiftKey ? -1 : 1);
    },
    ArrowLeft: () => void view.step(-many),
    ArrowRight: () => void view.step(many),
    ArrowUp: () => { view.neighbour(-1); },
    ArrowDown: () => { view.neighbour(1); },
    Home: () => void player.goTo({ moment: 0 }),
    End: () => void player.goTo({ moment: player.moments }),
    "<": () => { view.faster(-1); },
    ">": () => { view.faster(1); },
    Enter: () => { if (stage.selected >= 0) view.enter(stage.selected); },
    Backspace: () => { view.out(); },
    l: () => { view.nextLayout(); },
    f: () => { stage.fit(); },
    "+": () => { stage.zoomBy(CLOSER); },
    "=": () => { stage.zoomBy(CLOSER); },
    "-": () => { stage.zoomBy(1 / CLOSER); },
    Escape: () => { view.choose(-1); },
  }; // prettier-ignore
  const act = acts[key];
  act?.();
  return act !== undefined;
}
