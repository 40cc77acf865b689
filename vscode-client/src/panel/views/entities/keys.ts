/** The keys of the entities view: playing, selecting and zooming. */
import { ZOOM_STEP } from "../../ui/zoomControls";
import type { EntityPlayer } from "./player/player";
import type { EntitiesStage } from "./stage/stage";

/** The actions of the view besides its player and its stage. */
export interface KeyTarget {
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
export function handleKey({ key, shiftKey, target }: KeyboardEvent, view: KeyTarget): boolean {
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
    "+": () => { stage.zoomBy(ZOOM_STEP); },
    "=": () => { stage.zoomBy(ZOOM_STEP); },
    "-": () => { stage.zoomBy(1 / ZOOM_STEP); },
    Escape: () => { view.choose(-1); },
  }; // prettier-ignore
  const act = acts[key];
  act?.();
  return act !== undefined;
}
