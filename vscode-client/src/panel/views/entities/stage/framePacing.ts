/**
 * Spreads the work of playback over frames: the picture first, the page around it in the next frame, and the lines after that, because
 * all of it takes longer than one frame.
 *
 * Invariant: a change is on the page one frame later.
 */
export class FramePacing {
  /** How often something was taken, and how much of that the page shows. */
  private taken = 0;
  private shown = 0;

  take(): void {
    this.taken += 1;
  }

  /** A frame in which `play` takes what is due, if anything is played, and `show` draws the page; is there no time left for what can wait? */
  frame(play: () => boolean, show: () => void): { plays: boolean; isFull: boolean } {
    const before = this.taken;
    const isLate = this.shown < before;
    this.shown = before;
    const plays = play();
    if (isLate) show();
    return { plays, isFull: isLate || this.taken > before };
  }
}
