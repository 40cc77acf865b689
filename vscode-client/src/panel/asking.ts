/**
 * How the server is asked: what takes long says so and can be stopped, and answers are kept for the way back.
 *
 * Invariant: the store's `busy` is the number of requests under way, and `slow` is false when it is 0.
 */
import type { Method, Methods } from "../shared/protocol";
import { Answers } from "./model/answers";
import type { Store } from "./store";
import type { Transport } from "./transport";

/** What takes longer can be stopped. */
const SLOW_MS = 700;

export class Asking {
  /** May the present question be answered by an answer that was given before? */
  recalling = false;
  private readonly answers = new Answers();
  /** Ends what is under way for the present question. */
  private underWay = new AbortController();
  /** Ends what is under way beside it: a step of a walk, say, which goes on in all views. */
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
