/** Points that move along lines from sender to receiver. They have a fixed lifetime and a limited number. */
import type { Talk } from "../model/activity";
import { ends } from "./shapes";
import type { Pen } from "../../../ui/canvas/pen";
import type { Frame } from "../drawings/contract";

const LASTS = 450;
const MOST = 160;

export class Pulses {
  private under: { talk: Talk; begun: number }[] = [];

  add(talks: readonly Talk[], now: number): void {
    for (const talk of talks) if (this.under.length < MOST) this.under.push({ talk, begun: now });
  }

  forget(): void {
    this.under = [];
  }

  /** Is any under way? */
  draw(pen: Pen, frame: Frame, now: number): boolean {
    this.under = this.under.filter(({ begun }) => now - begun < LASTS && now >= begun);
    pen.fillStyle = frame.colours.text;
    pen.beginPath();
    for (const { talk, begun } of this.under) {
      const [a, b] = [frame.byId.get(talk.source), frame.byId.get(talk.target)];
      if (!a || !b) continue;
      const [x, y, toX, toY] = ends(a, b);
      const share = (now - begun) / LASTS;
      const [atX, atY] = [x + (toX - x) * share, y + (toY - y) * share];
      pen.moveTo(atX + 2.4, atY);
      pen.arc(atX, atY, 2.4, 0, 2 * Math.PI);
    }
    pen.fill();
    return this.under.length > 0;
  }
}
