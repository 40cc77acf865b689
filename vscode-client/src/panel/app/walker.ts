/**
 * The walk in the panel: makes its steps in order and shows them in the views and in the editor.
 *
 * Invariant: steps are made in the order of the keys, each from the event where the previous step arrived.
 */
import type { WalkParams } from "../../shared/protocol";
import { type AskWalk, begin, type Step, stepped, visit, type Walk } from "../../shared/walk";
import type { Store } from "./store";
import type { Selection } from "../views/selection";

export interface WalkerContext {
  readonly store: Store;
  readonly ask: AskWalk;
  /** Shows where the walk is in the code. */
  show(walk: Walk | null): void;
  /** Lights it up in the view that is shown. */
  select(selection: Selection): void;
}

export class Walker {
  private last: Promise<void> = Promise.resolve();

  constructor(private readonly around: WalkerContext) {}

  get walk(): Walk | undefined {
    return this.around.store.state.walk;
  }

  /** Starts a new walk. Throws an error for the user if there is no event to walk from. */
  async start(params: WalkParams): Promise<void> {
    this.arrive(await begin(this.around.ask, params));
  }

  step(step: Step, choice = 0): void {
    this.then((walk) => stepped(this.around.ask, walk, step, choice));
  }

  /** To an event that is shown. */
  visit(event: number): void {
    this.then((walk) => visit(this.around.ask, walk, event));
  }

  end(): void {
    this.adopt(null);
    this.around.show(null);
  }

  /** Takes on what the host did. */
  adopt(walk: Walk | null): void {
    this.around.store.update({ walk: walk ?? undefined });
    if (walk) this.light(walk);
  }

  private then(make: (walk: Walk) => Promise<Walk>): void {
    this.last = this.last.then(async () => {
      const { walk } = this;
      if (!walk) return;
      try {
        this.arrive(await make(walk));
      } catch (error) {
        this.around.store.update({ error: error instanceof Error ? error.message : String(error) });
      }
    });
  }

  private arrive(walk: Walk): void {
    this.around.store.update({ walk });
    this.light(walk);
    this.around.show(walk);
  }

  private light({ result: { card } }: Walk): void {
    if (card?.function) this.around.select({ label: card.function, location: card.location });
  }
}
