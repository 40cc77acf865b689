/**
 * Beside the picture of entities: the one that is selected as it is at the present moment, or the busiest ones.
 *
 * Invariant: what is told of an entity is of the moment that it was asked for at; while one plays, it is asked now and then.
 */
import type { TemplateResult } from "lit";
import type { EntitiesResult, EntityBox, EntityResult } from "../../shared/protocol";
import { busiest, type CardActions, entityCard } from "../draw/entityCard";
import { labelsOf } from "../model/entities/labels";
import { busiestFirst } from "../model/entities/order";
import type { EntitySource, RecordedEntities } from "../model/entities/source";
import type { EntityPlayer } from "./entityPlayer";

/** Rows of the busiest ones, and how many more each time that somebody asks. */
const BUSIEST = 40;
const MORE = 200;
/** Between two looks while one plays, in ms: faster than that nobody reads, and a table takes longer to draw than a frame has. */
const ABOUT_MS = 400;

export class EntitySide {
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
