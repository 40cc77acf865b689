/**
 * The side panel of entities: the selected entity at the current moment, or the busiest entities.
 *
 * Invariant: the data of an entity belongs to the moment of its request. During playback the side panel repeats the request at
 * intervals.
 */
import type { TemplateResult } from "lit";
import type { EntitiesResult, EntityBox, EntityResult } from "../../../../shared/protocol";
import { busiest, type CardActions, entityCard } from "./card";
import { labelsOf } from "../model/labels";
import { busiestFirst } from "../model/order";
import type { EntitySource, RecordedEntities } from "../model/source";
import type { EntityPlayer } from "../player/player";

/** Rows of the busiest entities, and the number of further rows per click. */
const BUSIEST = 40;
const MORE = 200;
/** Interval of updates during playback, in ms: faster updates are unreadable, and drawing a table takes longer than a frame. */
const ABOUT_MS = 400;

export class EntitySidebar {
  private about: { entity: number; moment: number; result: EntityResult } | undefined;
  private asked = -Infinity;
  private most = BUSIEST;
  private ranked:
    { at: number; boxes: readonly EntityBox[]; left: number; labels: ReadonlyMap<number, string> } | undefined;

  constructor(
    private readonly player: EntityPlayer,
    private readonly changed: () => void,
  ) {}

  forget(): void {
    this.about = undefined;
  }

  /** The event of the selected entity that a walk can begin at, -1 for none. */
  get event(): number {
    return this.about?.result.event ?? -1;
  }

  /** Where a walk from the selected entity begins. While a program runs its events have numbers only in what was recorded by now. */
  async origin(source: RecordedEntities | undefined, run: string): Promise<{ event: number; run: string } | undefined> {
    const { about, event } = this;
    if (!about || !source) return undefined;
    if (event >= 0) return { event, run };
    const origin = await source.origin(about.entity, about.moment);
    if (origin.message) throw new Error(origin.message);
    return origin;
  }

  /** By entity what it is called where its containers are not seen. */
  labels(): ReadonlyMap<number, string> {
    return labelsOf(this.player.state.boxes);
  }

  /** Asks for an entity at the present moment; `now`: however soon after the last time. */
  async ask(source: EntitySource | undefined, entity: () => number, now: boolean): Promise<void> {
    const [one, { moment }] = [entity(), this.player.state];
    if (one < 0 || !source || (this.about?.entity === one && this.about.moment === moment)) return;
    if (!now && this.player.moves && performance.now() - this.asked < ABOUT_MS) return;
    this.asked = performance.now();
    const result = await source.about(one, moment).catch(() => undefined);
    if (!result || entity() !== one) return;
    this.about = { entity: one, moment, result };
    this.changed();
  }

  private readonly more = (): void => {
    this.most += MORE;
    this.ranked = undefined;
    this.changed();
  };

  draw({ fromNs }: EntitiesResult, selected: number, act: CardActions): TemplateResult {
    if (this.about && selected >= 0) {
      return entityCard(this.about.result, this.about.entity, fromNs, this.labels(), act);
    }
    const now = performance.now();
    if (!this.ranked || !this.player.moves || now - this.ranked.at > ABOUT_MS) {
      const all = busiestFirst(this.player.state.boxes);
      const boxes = all.slice(0, this.most);
      this.ranked = { at: now, boxes, left: all.length - boxes.length, labels: this.labels() };
    }
    const { boxes, left, labels } = this.ranked;
    return busiest(boxes, labels, act, { left, show: this.more });
  }
}
