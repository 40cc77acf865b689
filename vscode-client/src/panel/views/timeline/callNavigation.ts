/**
 * Moves from call to call of a timeline: to neighbours, callers, callees, and to other threads.
 *
 * Invariant: of several requests only the latest is used, so the selection is always the last one asked for.
 */
import type { TimelineCall, TimelineMatch, TimelineParams } from "../../../shared/protocol";
import { strandBeside } from "./draw/lanes";
import type { Spot, Stage } from "./stage/stage";
import type { Context } from "../contract";

type Move = "at" | "next" | "previous" | "into" | "out";

export class Calls {
  run = "";
  private wished = 0;

  constructor(
    private readonly context: Context<TimelineParams>,
    private readonly stage: Stage,
  ) {}

  /** The call at a place, or where one comes to from it; undefined where there is none. */
  async ask(spot: Spot | undefined, move: Move = "at"): Promise<TimelineCall | undefined> {
    if (!spot) return undefined;
    const { run } = this;
    const params = { ...spot, run, ns: Math.floor(spot.ns), slackNs: Math.floor(spot.slackNs), move };
    const found = await this.context.quietly("clew/timelineCall", params).catch(() => undefined);
    return run === this.run ? (found?.call ?? undefined) : undefined;
  }

  /** Selects the call at a place, or nothing. */
  async choose(spot: Spot | undefined): Promise<TimelineCall | undefined> {
    return this.select(() => this.ask(spot), true);
  }

  /** Selects what a search has found, and shows where it is. */
  arrive({ call, strand, ns }: TimelineMatch): void {
    this.wished += 1;
    this.stage.selected = call ?? undefined;
    this.stage.hovered = undefined;
    this.stage.uncover({ strand, depth: call?.depth ?? 0, fromNs: ns, toNs: ns });
    this.stage.invalidate();
    this.context.store.changed();
  }

  async walk(move: "next" | "previous" | "into" | "out"): Promise<void> {
    const call = this.stage.selected;
    if (!call) {
      await this.toStrand(1);
      return;
    }
    const spot = { strand: call.strand, depth: call.depth, ns: call.fromNs, slackNs: 0 };
    const isTop = move === "out" && call.depth === 0;
    const found = isTop ? undefined : await this.select(() => this.ask(spot, move), false);
    // Where there is none above or below: to the thread or task there.
    if (!found && (move === "into" || move === "out")) await this.toStrand(move === "into" ? 1 : -1);
  }

  async toStrand(by: 1 | -1): Promise<void> {
    const { selected, span, lanes } = this.stage;
    const strand = strandBeside(lanes, selected?.strand ?? -1, by);
    if (!strand) return;
    const ns = selected?.fromNs ?? Math.max(span.from, strand.fromNs);
    const spot = { strand: strand.strand, depth: 0, ns, slackNs: 0 };
    await this.select(
      async () => (await this.ask(spot)) ?? (await this.ask(spot, "next")) ?? (await this.ask(spot, "previous")),
      false,
    );
  }

  /** `orNothing`: nothing is selected where there is no call. */
  private async select(
    find: () => Promise<TimelineCall | undefined>,
    orNothing: boolean,
  ): Promise<TimelineCall | undefined> {
    this.wished += 1;
    const wish = this.wished;
    const call = await find();
    if (wish !== this.wished || (!call && !orNothing)) return call;
    this.stage.selected = call;
    this.stage.hovered = undefined;
    if (call) this.stage.uncover(call);
    this.stage.invalidate();
    this.context.store.changed();
    return call;
  }
}
