/**
 * The clock of an animation from before (0) to after (1) and back.
 *
 * Invariant: the clock pauses at both ends, so that the two recorded states are visible longer than interpolated ones; with reduced
 * motion it has only the ends.
 */
const ONE_WAY_MS = 2600;
const REST_MS = 1100;
export const SPEEDS = [0.5, 1, 2] as const;
/** Where a step leads: the ends, and between what fades, what moves and what appears. */
const STOPS = [0, 1 / 3, 2 / 3, 1] as const;

export class Player {
  time = 0;
  speed = 1;
  private towards: 0 | 1 = 1;
  private frame = 0;
  private last = 0;
  private restUntil = 0;

  constructor(private readonly changed: () => void) {}

  get playing(): boolean {
    return this.frame !== 0;
  }

  /** Is one of the two states shown that really were? */
  get state(): "before" | "after" | "between" {
    return this.time === 0 ? "before" : this.time === 1 ? "after" : "between";
  }

  play(): void {
    if (this.playing) return;
    this.towards = this.time === 1 ? 0 : this.time === 0 ? 1 : this.towards;
    this.last = performance.now();
    this.restUntil = 0;
    this.frame = requestAnimationFrame(this.tick);
    this.changed();
  }

  pause(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.changed();
  }

  goTo(time: number): void {
    this.pause();
    this.time = Math.min(1, Math.max(0, time));
    this.changed();
  }

  step(by: 1 | -1): void {
    const stops = calm() ? STOPS.filter((stop) => stop === 0 || stop === 1) : STOPS;
    const next =
      by > 0
        ? stops.find((stop) => stop > this.time + 1e-6)
        : [...stops].reverse().find((stop) => stop < this.time - 1e-6);
    this.goTo(next ?? this.time);
  }

  private readonly tick = (now: number): void => {
    const passed = ((now - this.last) * this.speed) / ONE_WAY_MS;
    this.last = now;
    if (now >= this.restUntil) {
      if (this.time === this.towards) this.towards = this.towards === 1 ? 0 : 1;
      this.time = calm() ? this.towards : Math.min(1, Math.max(0, this.time + (this.towards === 1 ? passed : -passed)));
      if (this.time === this.towards) this.restUntil = now + REST_MS / this.speed;
      this.changed();
    }
    this.frame = requestAnimationFrame(this.tick);
  };
}

function calm(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
