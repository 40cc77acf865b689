/**
 * The clock of playback: position, direction and speed.
 *
 * Invariant: the clock stays between the first and the last event of the run and stops there.
 */
import { duration } from "../../../ui/text/format";

/** Times as fast as to show the whole run in `WHOLE_MS`. */
export const SPEEDS = [0.01, 0.05, 0.125, 0.25, 0.5, 1, 2, 4, 8] as const;
export const USUAL = SPEEDS.indexOf(1);
const WHOLE_MS = 20_000;

export class PlayClock {
  ns = 0;
  /** 0: paused. */
  direction: 1 | 0 | -1 = 0;
  private speed = USUAL;
  private from = 0;
  private to = 0;

  begin(from: number, to: number): void {
    [this.from, this.to] = [from, to];
    this.ns = Math.min(to, Math.max(from, this.ns));
  }

  get span(): { from: number; to: number } {
    return { from: this.from, to: this.to };
  }

  get rate(): number {
    return SPEEDS[this.speed] ?? 1;
  }

  /** Of the run for each ms of watching. */
  get nsPerMs(): number {
    return (Math.max(1, this.to - this.from) / WHOLE_MS) * this.rate;
  }

  /** Is another speed there, in this direction? */
  faster(by: 1 | -1): void {
    this.speed = Math.min(SPEEDS.length - 1, Math.max(0, this.speed + by));
  }

  setRate(rate: number): void {
    const found = SPEEDS.findIndex((one) => one === rate);
    if (found >= 0) this.speed = found;
  }

  /** At the end of its way it restarts. */
  play(direction: 1 | -1): void {
    this.direction = direction;
    const end = direction > 0 ? this.to : this.from;
    if (this.ns === end) this.ns = direction > 0 ? this.from : this.to;
  }

  pause(): void {
    this.direction = 0;
  }

  goTo(ns: number): void {
    this.ns = Math.min(this.to, Math.max(this.from, ns));
  }

  /** The position after this many ms; the clock stops at the end. */
  after(ms: number): number {
    const ns = this.ns + this.direction * ms * this.nsPerMs;
    return Math.min(this.to, Math.max(this.from, ns));
  }

  get atEnd(): boolean {
    return this.direction !== 0 && this.ns === (this.direction > 0 ? this.to : this.from);
  }

  /** From 0 to 1. */
  get share(): number {
    return this.to > this.from ? (this.ns - this.from) / (this.to - this.from) : 0;
  }

  /** How fast, in words. */
  get said(): string {
    return `${duration(this.nsPerMs * 1000)} of the run per second`;
  }
}
