/**
 * Which container is looked into, and the ways into another one and out again.
 *
 * Invariant: whoever goes into a container sees it at the moment that was seen, and what followed a program goes on to do so.
 */
import type { nothing, TemplateResult } from "lit";
import type { EntitiesResult } from "../../shared/protocol";
import { entityWhere } from "../draw/entityWhere";
import type { EntitiesQuestion } from "../kinds/entities";
import { untimed } from "../model/entities/moment";
import type { EntityPlayer } from "./entityPlayer";
import type { Context } from "./view";

/** Entities that are drawn where nobody said how many, and how many more each time. */
const USUAL_MOST = 300;
const MORE = 300;

export class EntityInside {
  constructor(
    private readonly context: Context<EntitiesQuestion>,
    private readonly player: EntityPlayer,
  ) {}

  enter(entity: number): void {
    this.context.ask({ ...untimed(this.context.question), inside: entity, ...this.now });
  }

  /** Into the container around the one that was asked for last, which may not be shown yet: two keys lead out of two containers. */
  out({ around }: EntitiesResult): void {
    const { inside } = this.context.question;
    if (inside === undefined) return;
    const place = around.findIndex(({ entity }) => entity === inside);
    this.leaveTo(around[(place < 0 ? around.length : place) - 1]?.entity);
  }

  /** All of them with undefined. */
  private leaveTo(entity: number | undefined): void {
    const { inside: _left, ...rest } = untimed(this.context.question);
    this.context.ask({ ...rest, ...this.now, ...(entity === undefined ? {} : { inside: entity }) });
  }

  private get now(): Pick<EntitiesQuestion, "moment"> {
    return this.player.following ? {} : { moment: this.player.state.moment };
  }

  draw(answer: EntitiesResult): TemplateResult | typeof nothing {
    const goTo = (container: number | undefined): void => {
      this.leaveTo(container);
    };
    return entityWhere(answer, goTo, () => {
      const { question } = this.context;
      this.context.ask({ ...question, most: Math.max(answer.boxes.length, question.most ?? USUAL_MOST) + MORE });
    });
  }
}
