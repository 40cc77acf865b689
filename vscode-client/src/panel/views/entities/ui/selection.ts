/**
 * The selected entity, the matches of the search, and the side panel.
 *
 * Invariant: the side panel shows the selected entity, or none.
 */
import type { TemplateResult } from "lit";
import type { EntitiesResult } from "../../../../shared/protocol";
import type { CardActions } from "./card";
import type { EntitiesQuestion } from "../question";
import { inOrder, named } from "../model/order";
import type { RecordedEntities } from "../model/source";
import { entityText } from "../model/sentences";
import { neighbourOf } from "../../../ui/listNavigation";
import { momentQuestion } from "../../timeline/link";
import type { EntitiesStage } from "../stage/stage";
import type { EntityPlayer } from "../player/player";
import { EntitySidebar } from "./sidebar";
import type { Context } from "../../contract";
import type { SelectedEvent, Selection } from "../../selection";

export class EntitySelection {
  source: RecordedEntities | undefined;
  private readonly side: EntitySidebar;
  private searched = "";

  constructor(
    private readonly context: Context<EntitiesQuestion>,
    private readonly player: EntityPlayer,
    private readonly stage: EntitiesStage,
    private readonly told: { said(words: string): void; failed(error: unknown): void },
  ) {
    this.side = new EntitySidebar(player, () => {
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

  /** Requests the details of the selected entity at the current moment; `now`: without a minimum interval. */
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
    this.told.said(entityText(next, boxes, this.labels()));
  }

  private show(entity: number): void {
    this.choose(entity);
    this.stage.uncover(entity);
  }

  // --- the side panel ---

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
      timeline: () => { this.context.go("timeline", momentQuestion(run, this.player.state.ns, answer)); },
      close: () => { this.choose(-1); },
    }; // prettier-ignore
    return this.side.draw(answer, this.stage.selected, act);
  }
}
