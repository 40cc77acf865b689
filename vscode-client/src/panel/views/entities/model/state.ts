/**
 * The entities at a moment, and the steps to another moment and back.
 *
 * Invariant: a step and its inverse leave every entity unchanged.
 */
import type { EntitiesResult, EntityBox, EntityEventsResult, EntityLine } from "../../../../shared/protocol";

/** What happened between two moments, forward in time whichever way one goes. */
export interface Step {
  from: number;
  to: number;
  fromNs: number;
  toNs: number;
  /** Boxes that are others at its end; undefined where there is none. */
  boxes: readonly { before: EntityBox | undefined; after: EntityBox | undefined }[];
  lines: readonly EntityLine[];
  hiddenLines: number;
  unseen: number;
}

export class EntityState {
  private readonly known = new Map<number, EntityBox>();
  moment = 0;
  ns = 0;

  /** By entity, in the order of the answers. */
  get boxes(): ReadonlyMap<number, EntityBox> {
    return this.known;
  }

  begin({ boxes, moment, ns }: Pick<EntitiesResult, "boxes" | "moment" | "ns">): void {
    this.known.clear();
    for (const box of boxes) this.known.set(box.entity, box);
    [this.moment, this.ns] = [moment, ns];
  }

  /** What an answer that begins here says, whichever way it goes. */
  stepOf({ fromMoment, toMoment, fromNs, toNs, changed, removed, ...rest }: EntityEventsResult): Step {
    const ends = [
      ...changed.map((box) => ({ here: this.known.get(box.entity), there: box })),
      ...removed.map((entity) => ({ here: this.known.get(entity), there: undefined })),
    ];
    const forward = toMoment >= fromMoment;
    return {
      from: forward ? fromMoment : toMoment,
      to: forward ? toMoment : fromMoment,
      fromNs: forward ? fromNs : toNs,
      toNs: forward ? toNs : fromNs,
      boxes: ends.map(({ here, there }) => (forward ? { before: here, after: there } : { before: there, after: here })),
      lines: rest.lines,
      hiddenLines: rest.hiddenLines,
      unseen: rest.unseen,
    };
  }

  handle(step: Step): void {
    for (const { before, after } of step.boxes) this.put(before, after);
    [this.moment, this.ns] = [step.to, step.toNs];
  }

  unhandle(step: Step): void {
    for (const { before, after } of step.boxes) this.put(after, before);
    [this.moment, this.ns] = [step.from, step.fromNs];
  }

  private put(from: EntityBox | undefined, to: EntityBox | undefined): void {
    if (to) this.known.set(to.entity, to);
    else if (from) this.known.delete(from.entity);
  }
}

/** Is anything there that was not, gone, or in another container? */
export function isMove({ before, after }: Step["boxes"][number]): boolean {
  return before?.container !== after?.container || before === undefined || after === undefined;
}

const LOOKS = ["name", "container", "presence", "insideItself", "holds", "hidden"] as const;

/** Does an entity look different after the step? Its message counts do not matter. */
export function looksDifferent({ before, after }: Step["boxes"][number]): boolean {
  return LOOKS.some((look) => before?.[look] !== after?.[look]);
}
