/**
 * Which entity is selected, which are searched for, and what is told beside the picture.
 *
 * Invariant: what is told is of the entity that is selected, or of nobody.
 */
import type { TemplateResult } from "lit";
import type { EntitiesResult } from "../../shared/protocol";
import type { CardActions } from "../draw/entityCard";
import type { EntitiesQuestion } from "../kinds/entities";
import { inOrder, named } from "../model/entities/order";
import type { RecordedEntities } from "../model/entities/source";
import { boxWords } from "../model/entities/words";
import { neighbourOf } from "../model/neighbour";
import { aroundQuestion } from "../model/timeline";
import type { EntitiesStage } from "./entitiesStage";
import type { EntityPlayer } from "./entityPlayer";
import { EntitySide } from "./entitySide";
import type { Context, SelectedEvent, Selection } from "./view";

export class EntityChoice {
  source: RecordedEntities | undefined;
  private readonly side: EntitySide;
  private searched = "";

  constructor(
    private readonly context: Context<EntitiesQuestion>,
    private readonly player: EntityPlayer,
    private readonly stage: EntitiesStage,
    private readonly told: { said(words: string): void; failed(error: unknown): void },
  ) {
    this.side = new EntitySide(player, () => {
      context.store.changed();
    });
  }

  /** Nobody with -1. */
  choose(entity: number): void {
    this.stage.selected = entity;
    if (entity < 0) this.side.forget();
    else this.ask(true);
    this.stage.invalidate();
    this.context.store.changed();
  }

  /** The numbers of entities mean others from here on. */
  renew(entity: number): void {
    this.side.forget();
    this.choose(entity);
  }

  /** A function of the source that is one's, or one's class. */
  select({ label }: Selection): void {
    const found = [...this.player.state.boxes.values()].find(
      (box) => box.name === label || label.endsWith(`:${box.name}`),
    );
    if (found) this.choose(found.entity);
  }

  /** Asks what is told of the selected one at the present moment; `now`: however soon after the last time. */
  ask(now: boolean): void {
    void this.side.ask(this.source, () => this.stage.selected, now);
  }

  /** The event of the selected one from which a walk can begin. */
  get event(): SelectedEvent | undefined {
    const { event } = this.side;
    return event >= 0 ? { event } : undefined;
  }

  labels(): ReadonlyMap<number, string> {
    return this.side.labels();
  }

  // --- from one to another ---

  neighbour(by: 1 | -1): void {
    this.next(inOrder(this.player.state.boxes), by);
  }

  /** Is another text searched for now? Then those that it is found in are lit. */
  searchIfOther(): void {
    if (this.context.store.state.place.search !== this.searched) this.search();
  }

  search(): void {
    const { search } = this.context.store.state.place;
    this.searched = search;
    this.stage.lit = search.trim() ? named(this.player.state.boxes, search) : undefined;
    this.stage.redraw();
  }

  found(): { matches: number; all: number } {
    const all = this.player.state.boxes.size;
    return { matches: this.stage.lit?.size ?? all, all };
  }

  nextMatch(by: 1 | -1): void {
    this.next([...(this.stage.lit ?? this.player.state.boxes.keys())], by);
  }

  private next(among: readonly number[], by: 1 | -1): void {
    const { boxes } = this.player.state;
    const next = boxes.get(neighbourOf(among, this.stage.selected, by) ?? -1);
    if (!next) return;
    this.show(next.entity);
    this.told.said(boxWords(next, boxes, this.labels()));
  }

  private show(entity: number): void {
    this.choose(entity);
    this.stage.uncover(entity);
  }

  // --- what is told beside the picture ---

  draw(answer: EntitiesResult, enter: (entity: number) => void): TemplateResult {
    const run = answer.run.id;
    const act: CardActions = {
      workspace: this.context.store.state.workspace,
      reveal: (location) => { this.context.reveal(location); },
      select: (entity) => { this.show(entity); },
      enter,
      goTo: (moment) => void this.player.goTo({ moment }),
      follow: (view) => {
        this.side.origin(this.source, run).then((found) => {
          if (found) this.context.go(view, { target: { event: found.event }, run: found.run });
        }, (error: unknown) => { this.told.failed(error); });
      },
      timeline: () => { this.context.go("timeline", aroundQuestion(run, this.player.state.ns, answer)); },
      close: () => { this.choose(-1); },
    }; // prettier-ignore
    return this.side.draw(answer, this.stage.selected, act);
  }
}
