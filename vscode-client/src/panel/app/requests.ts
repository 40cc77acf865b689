/**
 * Requests to the server: long requests show progress and can be cancelled, and answers are cached for going back.
 *
 * Invariant: the store's `busy` is the number of pending requests, and `slow` is false when it is 0.
 */
import type { Method, Methods } from "../../shared/protocol";
import { Answers } from "./answerCache";
import type { Store } from "./store";
import type { Transport } from "./transport";

/** What takes longer can be stopped. */
const SLOW_MS = 700;

export class Requests {
  /** May the present question be answered by an answer that was given before? */
  recalling = false;
  private readonly answers = new Answers();
  /** Ends what is under way for the present question. */
  private underWay = new AbortController();
  /** Cancels pending requests outside of the present question, for example steps of a walk. */
  private beside = new AbortController();
  private slowTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly store: Store,
    private readonly transport: Transport,
  ) {}

  /** `ofQuestion`: for the present question, with which it ends. */
  async request<M extends Method>(
    method: M,
    params: Methods[M]["params"],
    ofQuestion = false,
  ): Promise<Methods[M]["result"]> {
    const known = this.recalling ? this.answers.recall(method, params) : undefined;
    if (known !== undefined) return known as Methods[M]["result"];
    this.busier(1);
    try {
      const { signal } = ofQuestion ? this.underWay : this.beside;
      const result = await this.transport.request(method, params, signal);
      this.answers.keep(method, params, result);
      return result;
    } finally {
      this.busier(-1);
    }
  }

  /** Stops all that is under way. */
  stop(): void {
    this.underWay.abort();
    this.beside.abort();
    this.beside = new AbortController();
  }

  /** Ends the present question and begins another one. */
  begin(): void {
    this.underWay.abort();
    this.underWay = new AbortController();
  }

  /** Something may have changed: all is asked again. */
  forget(): void {
    this.answers.forget();
  }

  private busier(by: 1 | -1): void {
    const busy = this.store.state.busy + by;
    this.store.update({ busy });
    if (by === 1 && busy === 1) {
      this.slowTimer = setTimeout(() => {
        this.store.update({ slow: true });
      }, SLOW_MS);
    } else if (busy === 0) {
      clearTimeout(this.slowTimer);
      this.store.update({ slow: false });
    }
  }
}
