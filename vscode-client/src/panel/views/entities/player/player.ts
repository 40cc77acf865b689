/**
 * Plays entities: moves from moment to moment by time, by single events or by jumps, forward and back, and follows a live run.
 *
 * Invariant: the state is always that of one moment of the source; prefetched events enter it step by step.
 */
import type { EntitiesResult } from "../../../../shared/protocol";
import { PlayClock } from "./clock";
import type { EntitySource, Goal } from "../model/source";
import { EntityState, type Step } from "../model/state";
import { EntityPrefetch } from "./prefetch";

/** What is shown while one plays. */
export interface Shown {
  handle(step: Step): void;
  unhandle(step: Step): void;
  /** Another moment, far away: what happened between is known, but not to be seen. `recent` is. */
  jump(step: Step, forward: boolean, recent: Step | undefined): void;
  changed(): void;
  failed(error: unknown): void;
}

/** So many times as long as an answer took nothing is asked of a program that still runs. */
const REST = 3;
/** Events before a moment that are still seen when one comes there from afar: a part of all, but not less. */
const RECENT = 0.01;
const LEAST_RECENT = 60;

export class EntityPlayer {
  readonly state = new EntityState();
  readonly playback = new PlayClock();
  moments = 0;
  following = false;
  private source: EntitySource | undefined;
  private readonly ahead = new EntityPrefetch(this.playback, (error) => {
    this.halt();
    this.shown.failed(error);
  });
  private doing: Promise<void> = Promise.resolve();
  private wanted: Exclude<Goal, "end"> | undefined;
  /** Which way it was played when one went elsewhere. */
  private resume: 1 | 0 | -1 = 0;
  private catching = false;
  /** In ms of the page's clock. */
  private restUntil = 0;
  private unfollow: (() => void) | undefined;
  private resting: ReturnType<typeof setTimeout> | undefined;
  /** Did a notification arrive while a request was pending? */
  private isMore = false;

  constructor(private readonly shown: Shown) {}

  begin(source: EntitySource, result: EntitiesResult): void {
    this.end();
    this.source = source;
    this.moments = result.moments;
    this.state.begin(result);
    this.playback.begin(result.fromNs, result.toNs);
    this.playback.goTo(result.ns);
  }

  end(): void {
    this.halt();
    this.follow(false);
    this.source = undefined;
  }

  get playing(): 1 | 0 | -1 {
    return this.playback.direction;
  }

  /** Does the picture advance by itself? */
  get moves(): boolean {
    return this.playing !== 0 || this.following;
  }

  play(direction: 1 | -1 = 1): void {
    if (!this.source || this.moments === 0) return;
    this.halt();
    this.follow(false);
    const from = this.playback.ns;
    this.playback.play(direction);
    const { ns } = this.playback;
    const begin = ns === from ? Promise.resolve() : this.goTo(direction > 0 ? { moment: 0 } : { moment: this.moments });
    void begin.then(() => {
      this.playback.direction = direction;
      this.playback.goTo(ns);
      this.ahead.begin(this.state, ns);
      this.shown.changed();
    });
  }

  pause(): void {
    const was = this.playing;
    this.follow(false);
    this.resume = 0;
    this.halt();
    if (was !== 0) this.playback.goTo(this.state.ns);
    this.shown.changed();
  }

  /** It may have been stopped meanwhile. */
  private get isFollowing(): boolean {
    return this.following;
  }

  private get isWanted(): boolean {
    return this.wanted !== undefined;
  }

  private halt(): void {
    this.playback.pause();
    this.ahead.forget();
  }

  /** So many events on, or back; gives what happened between, undefined at the end. */
  async step(by: number): Promise<Step | undefined> {
    if (this.playing !== 0) this.pause();
    this.follow(false);
    let found: Step | undefined;
    await this.later(async () => {
      const to = Math.min(this.moments, Math.max(0, this.state.moment + by));
      if (to === this.state.moment || !this.source) return;
      found = this.state.stepOf(await this.source.way(this.state.moment, { moment: to }));
      this.take(found, by > 0);
      this.playback.goTo(this.state.ns);
    });
    return found;
  }

  /** Anywhere at once; while it is on its way somewhere, only the last wish counts. */
  async goTo(to: Exclude<Goal, "end">): Promise<void> {
    this.resume ||= this.playing;
    this.halt();
    this.follow(false);
    if ("ns" in to) this.playback.goTo(to.ns);
    this.wanted = to;
    await this.later(async () => {
      const wanted = this.wanted;
      this.wanted = undefined;
      const { source, state } = this;
      if (!wanted || !source) return;
      const before = state.moment;
      const result = await source.way(before, wanted);
      const step = state.stepOf(result);
      const forward = result.toMoment >= before;
      if (forward) state.handle(step);
      else state.unhandle(step);
      const recent = await this.recent();
      this.shown.jump(step, forward, recent);
      if (!("ns" in wanted)) this.playback.goTo(state.ns);
      const { resume } = this;
      if (this.isWanted) return;
      this.resume = 0;
      if (resume !== 0) this.play(resume);
    });
  }

  /** What happened right before the present moment. */
  async recent(): Promise<Step | undefined> {
    const { source, state } = this;
    const events = Math.max(LEAST_RECENT, Math.round(this.moments * RECENT));
    if (!source || state.moment === 0) return undefined;
    const answer = await source.way(Math.max(0, state.moment - events), { moment: state.moment });
    return { ...new EntityState().stepOf(answer), boxes: [] };
  }

  /** Shows whatever happens as it does, or no more. */
  follow(on: boolean): void {
    if (on === this.following) return;
    this.following = on;
    clearTimeout(this.resting);
    this.resting = undefined;
    if (!on) {
      this.unfollow?.();
      this.unfollow = undefined;
      return;
    }
    this.unfollow = this.source?.follow((isOver) => {
      if (isOver) this.pause();
      else this.more();
    });
    this.more();
  }

  /** Asks for the newest moment, once an answer that is under way has come, and the program was left in peace for long enough. */
  private more(): void {
    if (this.catching) {
      this.isMore = true;
      return;
    }
    const rest = this.restUntil - performance.now();
    if (rest > 0) {
      this.resting ??= setTimeout(() => {
        this.resting = undefined;
        this.more();
      }, rest);
      return;
    }
    [this.catching, this.isMore] = [true, false];
    void this.later(async () => {
      const begun = performance.now();
      await this.catchUp();
      this.restUntil = performance.now() + REST * (performance.now() - begun);
    }).finally(() => {
      this.catching = false;
      if (this.isMore && this.following) this.more();
    });
  }

  /** Goes to the newest moment. */
  private async catchUp(): Promise<void> {
    const { state, source, playback } = this;
    if (!this.following || !source) return;
    const answer = await source.way(state.moment, "end");
    if (!this.isFollowing) return;
    this.moments = Math.max(this.moments, answer.toMoment);
    playback.begin(playback.span.from, Math.max(playback.span.to, answer.toNs));
    if (answer.toMoment > state.moment) this.take(state.stepOf(answer), true);
    playback.goTo(state.ns);
  }

  /** Before each frame; is anything played? */
  frame(ms: number): boolean {
    const { playback, ahead } = this;
    const { direction } = playback;
    if (this.following) return true;
    if (direction === 0) return false;
    const ns = ahead.upTo(playback.after(ms));
    playback.goTo(ns);
    for (let step = ahead.next(ns); step; step = ahead.next(ns)) this.take(step, direction > 0);
    if (playback.atEnd && ahead.isEmpty) {
      this.pause();
      return true;
    }
    void ahead.fetch(this.source);
    return true;
  }

  private take(step: Step, forward: boolean): void {
    if (forward) {
      this.state.handle(step);
      this.shown.handle(step);
    } else {
      this.state.unhandle(step);
      this.shown.unhandle(step);
    }
    this.shown.changed();
  }

  /** One after the other. */
  private later(work: () => Promise<void>): Promise<void> {
    this.doing = this.doing.then(work).then(
      () => {
        this.shown.changed();
      },
      (error: unknown) => {
        this.shown.failed(error);
      },
    );
    return this.doing;
  }
}
