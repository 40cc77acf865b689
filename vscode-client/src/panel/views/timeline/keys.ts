/** The keys of the timeline: zoom, pan, and moving from call to call. */
import type { Location, TimelineCall } from "../../../shared/protocol";
import { ZOOM_STEP } from "../../ui/zoomControls";
import type { Calls } from "./callNavigation";
import type { Stage } from "./stage/stage";

export interface KeyActions {
  zoomTo(call: TimelineCall): void;
  reveal(location: Location | null): void;
}

/** False for a key that is none of the timeline's. */
export function handleKey(event: KeyboardEvent, stage: Stage, calls: Calls, act: KeyActions): boolean {
  const room = stage.width - stage.gutter;
  const x = stage.mouse && stage.mouse.x > stage.gutter ? stage.mouse.x : stage.gutter + room / 2;
  const closer = (): void => {
    stage.zoom(1 / ZOOM_STEP, x);
  };
  const farther = (): void => {
    stage.zoom(ZOOM_STEP, x);
  };
  const acts: Record<string, () => void> = {
    w: closer,
    "+": closer,
    "=": closer,
    s: farther,
    "-": farther,
    a: () => {
      stage.pan(room / 4, 0);
    },
    d: () => {
      stage.pan(-room / 4, 0);
    },
    "0": () => {
      stage.show(stage.all);
    },
    f: () => {
      if (stage.selected) act.zoomTo(stage.selected);
    },
    Enter: () => {
      act.reveal(stage.selected?.location ?? null);
    },
    Escape: () => {
      stage.measured(undefined);
      void calls.choose(undefined);
    },
    ArrowLeft: () => void calls.walk("previous"),
    ArrowRight: () => void calls.walk("next"),
    ArrowUp: () => void calls.walk("out"),
    ArrowDown: () => void calls.walk("into"),
    PageDown: () => void calls.toStrand(1),
    PageUp: () => void calls.toStrand(-1),
  };
  const wanted = acts[event.key];
  wanted?.();
  return wanted !== undefined;
}
