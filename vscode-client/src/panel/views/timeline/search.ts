/**
 * The search of a timeline: the number of matches in the whole run, and moving between matches.
 *
 * Invariant: results belong to the text in the search box; earlier requests are cancelled, also on the server.
 */
import type { TimelineMatch, TimelineParams, TimelineSearchResult } from "../../../shared/protocol";
import type { Context } from "../contract";

/** Letters that come one after the other are asked about when they rest. */
const REST_MS = 120;

/** Where one is in a run. */
export interface SearchState {
  ns: number;
  event: number;
}

export class TimelineSearch {
  /** Undefined while nothing is searched for, or nothing known yet. */
  result: TimelineSearchResult | undefined;
  /** The last one that was gone to. */
  match: TimelineMatch | undefined;
  private run = "";
  private text = "";
  private underWay = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly context: Pick<Context<TimelineParams>, "quietly" | "store">,
    private readonly complain: (error: unknown) => void,
  ) {}

  /** Looks how much there is of a text; "" for none. */
  change(run: string, text: string): void {
    if (run === this.run && text === this.text) return;
    this.run = run;
    this.text = text;
    this.result = this.match = undefined;
    this.underWay.abort();
    clearTimeout(this.timer);
    if (run && text) this.timer = setTimeout(() => void this.ask(0, undefined), REST_MS);
  }

  /** The next (1) or previous (-1) one, seen from somewhere. */
  async go(by: 1 | -1, from: SearchState | undefined): Promise<TimelineMatch | undefined> {
    if (!this.run || !this.text) return undefined;
    clearTimeout(this.timer);
    await this.ask(by, from);
    return this.match;
  }

  private async ask(by: 0 | 1 | -1, from: SearchState | undefined): Promise<void> {
    this.underWay.abort();
    const mine = new AbortController();
    this.underWay = mine;
    const { run, text } = this;
    try {
      const result = await this.context.quietly("clew/timelineSearch", { run, text, by, ...from }, mine.signal);
      if (mine !== this.underWay) return;
      this.result = result;
      this.match = result.match ?? undefined;
      this.context.store.changed();
    } catch (error) {
      if (mine === this.underWay && !mine.signal.aborted) this.complain(error);
    }
  }
}
