/**
 * Navigation into containers of entities and out again.
 *
 * Invariant: opening a container shows it at the current moment, and a live run stays followed.
 */
import type { nothing, TemplateResult } from "lit";
import type { EntitiesResult } from "../../../shared/protocol";
import { breadcrumb } from "./ui/breadcrumb";
import type { EntitiesQuestion } from "./question";
import { withoutTime } from "./question";
import type { EntityPlayer } from "./player/player";
import type { Context } from "../contract";

/** Default number of drawn entities, and the number of further ones per click. */
const USUAL_MOST = 300;
const MORE = 300;

export class ContainerNavigation {
  constructor(
    private readonly context: Context<EntitiesQuestion>,
    private readonly player: EntityPlayer,
  ) {}

  enter(entity: number): void {
    this.context.ask({ ...withoutTime(this.context.question), inside: entity, ...this.now });
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
    const { inside: _left, ...rest } = withoutTime(this.context.question);
    this.context.ask({ ...rest, ...this.now, ...(entity === undefined ? {} : { inside: entity }) });
  }

  private get now(): Pick<EntitiesQuestion, "moment"> {
    return this.player.following ? {} : { moment: this.player.state.moment };
  }

  draw(answer: EntitiesResult): TemplateResult | typeof nothing {
    const goTo = (container: number | undefined): void => {
      this.leaveTo(container);
    };
    return breadcrumb(answer, goTo, () => {
      const { question } = this.context;
      this.context.ask({ ...question, most: Math.max(answer.boxes.length, question.most ?? USUAL_MOST) + MORE });
    });
  }
}
