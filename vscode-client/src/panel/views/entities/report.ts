/**
 * The entities of a report: any moment, and the steps between two moments, from the moments that the report has.
 *
 * Invariant: the data of a moment is the server's answer for exactly that moment; a question for another moment gets the next one that
 * the report has in that direction.
 */
import type {
  EntitiesResult,
  EntityBox,
  EntityEventsResult,
  EntityLine,
  EntityResult,
  Method,
} from "../../../shared/protocol";
import { EntityState } from "./model/state";

export interface ReportEntities {
  /** From the beginning to the end, each from where the one before it ends. */
  steps: readonly EntityEventsResult[];
  about: readonly { entity: number; result: EntityResult }[];
}

interface Asked {
  entity?: number;
  inside?: number;
  moment?: number;
  ns?: number;
  fullest?: boolean;
  fromMoment?: number;
  toMoment?: number;
  toNs?: number;
}

export class EntityAnswers {
  /** All moments, the beginning first. */
  private readonly moments: readonly { moment: number; ns: number; boxes: ReadonlyMap<number, EntityBox> }[];

  constructor(
    private readonly report: ReportEntities,
    private readonly result: EntitiesResult,
  ) {
    const state = new EntityState();
    state.begin({ boxes: [], moment: 0, ns: result.fromNs });
    this.moments = [
      { moment: 0, ns: result.fromNs, boxes: new Map<number, EntityBox>() },
      ...report.steps.map((step) => {
        state.handle(state.stepOf(step));
        return { moment: step.toMoment, ns: step.toNs, boxes: new Map(state.boxes) };
      }),
    ];
  }

  /** Undefined where there is none. */
  answer(method: Method, params: object): unknown {
    const asked = params as Asked;
    if ((asked.inside ?? -1) >= 0) return undefined;
    if (method === "clew/entity") return this.report.about.find((one) => one.entity === asked.entity)?.result;
    if (method === "clew/entities") return this.state(asked);
    return method === "clew/entityEvents" ? this.way(asked) : undefined;
  }

  private state({ moment = -1, ns = -1, fullest = false }: Asked): EntitiesResult {
    const at = fullest
      ? this.upTo(this.result.moment)
      : moment >= 0
        ? this.upTo(moment)
        : ns >= 0
          ? this.by(ns)
          : this.moments.length - 1;
    const there = this.moments[at];
    const boxes = [...(there?.boxes.values() ?? [])];
    return { ...this.result, moment: there?.moment ?? 0, ns: there?.ns ?? 0, boxes, entities: boxes.length };
  }

  private way({ fromMoment = 0, toMoment = -1, toNs = -1 }: Asked): EntityEventsResult {
    const from = this.upTo(fromMoment);
    const last = this.moments.length - 1;
    const onward = toMoment > fromMoment ? this.moments.findIndex(({ moment }) => moment >= toMoment) : -1;
    const to = toMoment >= 0 ? (onward >= 0 ? onward : this.upTo(toMoment)) : toNs >= 0 ? this.by(toNs) : last;
    const [begin, end] = [this.moments[from], this.moments[to]];
    const [before, after] = [begin?.boxes ?? new Map<number, EntityBox>(), end?.boxes ?? new Map<number, EntityBox>()];
    const passed = this.report.steps.slice(Math.min(from, to), Math.max(from, to));
    return {
      run: this.result.run.id,
      finished: true,
      fromMoment: begin?.moment ?? 0,
      toMoment: end?.moment ?? 0,
      fromNs: begin?.ns ?? 0,
      toNs: end?.ns ?? 0,
      changed: [...after.values()].filter((box) => !same(box, before.get(box.entity))),
      removed: [...before.keys()].filter((entity) => !after.has(entity)),
      lines: summed(passed).filter(({ source, target }) => after.has(source) && after.has(target)),
      hiddenLines: passed.reduce((sum, step) => sum + step.hiddenLines, 0),
      unseen: passed.reduce((sum, step) => sum + step.unseen, 0),
    };
  }

  /** The place of the last moment up to one. */
  private upTo(moment: number): number {
    return this.moments.findLastIndex((one) => one.moment <= moment);
  }

  private by(ns: number): number {
    return Math.max(
      0,
      this.moments.findLastIndex((one, at) => at > 0 && one.ns <= ns),
    );
  }
}

function same(one: EntityBox, other: EntityBox | undefined): boolean {
  return other !== undefined && JSON.stringify(one) === JSON.stringify(other);
}

/** The last one of each pair has the description. */
function summed(steps: readonly EntityEventsResult[]): EntityLine[] {
  const found = new Map<string, EntityLine>();
  for (const line of steps.flatMap(({ lines }) => lines)) {
    const pair = `${line.source} ${line.target}`;
    found.set(pair, { ...line, count: line.count + (found.get(pair)?.count ?? 0) });
  }
  return [...found.values()];
}
