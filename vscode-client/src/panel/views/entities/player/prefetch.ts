/**
 * Prefetches the next events during playback, in portions as long as a request takes.
 *
 * Invariant: portions follow each other without a gap, in the direction of playback.
 */
import type { PlayClock } from "./clock";
import type { EntitySource } from "../model/source";
import { EntityState, type Step } from "../model/state";

/** Of watching, that is fetched at once: as long as an answer takes, but not less, in ms. */
const LEAST_PART = 100;
const MOST_PART = 2000;

export class EntityPrefetch {
  /** Where in time each part begins and ends. */
  private parts: { step: Step; begin: number; end: number }[] = [];
  /** The state after the last portion, and its time. */
  private readonly state = new EntityState();
  private ns = 0;
  private fetching = false;
  private part = LEAST_PART;
  /** What is asked of an earlier way is of no interest. */
  private way = 0;

  constructor(
    private readonly playback: PlayClock,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Restarts from another moment, or in the other direction. */
  forget(): void {
    this.parts = [];
    this.way += 1;
    this.fetching = false;
  }

  /** From here on, where `forget` was called before. */
  begin({ boxes, moment, ns }: EntityState, from: number): void {
    this.state.begin({ boxes: [...boxes.values()], moment, ns });
    this.ns = from;
  }

  /** A time that one would go to, but not beyond what is known. */
  upTo(ns: number): number {
    return this.playback.direction > 0 ? Math.min(ns, this.ns) : Math.max(ns, this.ns);
  }

  /** The next step, if it has begun by then, which is taken with that. */
  next(ns: number): Step | undefined {
    const [part] = this.parts;
    if (!part || (ns - part.begin) * this.playback.direction < 0) return undefined;
    this.parts.shift();
    return part.step;
  }

  /** Is everything taken, and nothing on its way? */
  get isEmpty(): boolean {
    return this.parts.length === 0 && !this.fetching;
  }

  /** Has more brought where it is needed soon. */
  async fetch(source: EntitySource | undefined): Promise<void> {
    const { playback, way } = this;
    const { from, to } = playback.span;
    if (Math.abs(this.ns - playback.ns) >= 2 * this.part * playback.nsPerMs) return;
    if (this.fetching || !source || this.ns === (playback.direction > 0 ? to : from)) return;
    this.fetching = true;
    const begun = performance.now();
    const begin = this.ns;
    const end = Math.min(to, Math.max(from, begin + playback.direction * this.part * playback.nsPerMs));
    try {
      // The beginning is before what happened first: a time is all that happened by then.
      const answer = await source.way(this.state.moment, end <= from ? { moment: 0 } : { ns: end });
      if (way !== this.way) return;
      const step = this.state.stepOf(answer);
      if (playback.direction > 0) this.state.handle(step);
      else this.state.unhandle(step);
      this.parts.push({ step, begin, end });
      this.ns = end;
      this.part = Math.min(MOST_PART, Math.max(LEAST_PART, 1.5 * (performance.now() - begun)));
      this.fetching = false;
    } catch (error) {
      if (way === this.way) this.failed(error);
    }
  }
}
