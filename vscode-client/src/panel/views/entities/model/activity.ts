/**
 * Recent communication: the visibility of each line, its share of all use, and the load of each entity.
 *
 * Time is play time in ms and stands still while playback is paused. Invariant: the values of a line depend only on its messages and
 * their age.
 */
import type { EntityLine } from "../../../../shared/protocol";

/** After which a third of a line is left to be seen, */
export const FADE_MS = 900;
/** and of what counts as lately. */
export const LATELY_MS = 2000;
/** Less is not seen. */
export const FAINT = 0.04;

/** More numbers of entities than a run has, so that two make one number. */
const MOST_ENTITIES = 2 ** 26;

export interface Talk {
  source: number;
  target: number;
  /** Since the start of the run, as far as reported. */
  count: number;
  /** How many lately, older ones counting less. */
  lately: number;
  at: number;
  channel: string;
}

export class Activity {
  now = 0;
  private readonly known = new Map<number, Talk>();
  private readonly loads = new Map<number, { lately: number; at: number }>();

  forget(): void {
    this.known.clear();
    this.loads.clear();
  }

  /** As if nothing had happened lately. */
  rest(): void {
    this.loads.clear();
    for (const talk of this.known.values()) [talk.lately, talk.at] = [0, -Infinity];
  }

  pass(ms: number): void {
    this.now += ms;
  }

  talk({ source, target, count, channel }: EntityLine): Talk {
    const one = this.of(source, target);
    one.lately = decayed(one.lately, this.now - one.at) + count;
    one.at = this.now;
    one.channel = channel;
    for (const entity of [source, target]) {
      const load = this.loads.get(entity);
      if (!load) this.loads.set(entity, { lately: count, at: this.now });
      else [load.lately, load.at] = [decayed(load.lately, this.now - load.at) + count, this.now];
    }
    one.count += count;
    return one;
  }

  /** Notes that there is such a line, without showing it. */
  know({ source, target, count, channel }: EntityLine): void {
    const one = this.of(source, target);
    one.count = Math.max(one.count, count);
    one.channel ||= channel;
  }

  private of(source: number, target: number): Talk {
    const pair = source * MOST_ENTITIES + target;
    let one = this.known.get(pair);
    if (!one) {
      one = { source, target, count: 0, lately: 0, at: -Infinity, channel: "" };
      this.known.set(pair, one);
    }
    return one;
  }

  get lines(): IterableIterator<Talk> {
    return this.known.values();
  }

  get size(): number {
    return this.known.size;
  }

  /** From 1 when it is used down to 0. */
  seen(talk: Talk): number {
    return Math.exp((talk.at - this.now) / FADE_MS);
  }

  lately(talk: Talk): number {
    return decayed(talk.lately, this.now - talk.at);
  }

  load(entity: number): number {
    const load = this.loads.get(entity);
    return load ? decayed(load.lately, this.now - load.at) : 0;
  }
}

function decayed(count: number, ms: number): number {
  return count === 0 ? 0 : count * Math.exp(-ms / LATELY_MS);
}

/** Of a line, in px, by how often it is used lately. */
export function widthOf(lately: number): number {
  return Math.min(9, 1.25 + 0.9 * Math.log2(1 + lately));
}

/** From 0 (idle) to 1 (as busy as the busiest), on a scale that separates a few from none. */
export function loadShare(load: number, most: number): number {
  return load < 0.05 ? 0 : Math.min(1, Math.log1p(load) / Math.log1p(Math.max(most, 1)));
}
