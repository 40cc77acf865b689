/**
 * In which frame what is played is seen where: in the picture at once, on the page around it in the next frame, and lines are painted after
 * that, for all of it takes longer than one frame has.
 *
 * Invariant: whatever is taken is on the page one frame later.
 */
export class EntityPace {
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
