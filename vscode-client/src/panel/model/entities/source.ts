/**
 * Where the states of entities come from: a recording, or a program that still runs, which tells more as it goes on.
 *
 * Invariant: an entity has the same number in all answers of a source.
 */
import type {
  EntitiesResult,
  EntityEventsResult,
  EntityOrigin,
  EntityParams,
  EntityResult,
} from "../../../shared/protocol";
import type { Context } from "../../views/view";
import type { EntitiesQuestion } from "../../kinds/entities";

/** A moment by its number, or all that happened by a time, or at all. */
export type Goal = { moment: number } | { ns: number } | "end";

export type Glance = "fullest" | "beforeEnd";

export interface EntitySource {
  /** "fullest": when most are there; "beforeEnd": before those go with whom a program ends. */
  state(when: Goal | Glance): Promise<EntitiesResult>;
  /** From a moment to another, forward or back. */
  way(from: number, to: Goal): Promise<EntityEventsResult>;
  about(entity: number, moment: number): Promise<EntityResult>;
  /** Calls `listener` whenever more has happened, which `way` then tells; gives what ends that. */
  follow(listener: (isOver: boolean) => void): () => void;
}

/** What a run recorded. Nothing happens in it anew. */
export class RecordedEntities implements EntitySource {
  constructor(
    protected readonly context: Context<EntitiesQuestion>,
    protected readonly asked: EntitiesQuestion,
  ) {}

  state(when: Parameters<EntitySource["state"]>[0]): Promise<EntitiesResult> {
    const at = when === "end" ? {} : typeof when === "string" ? { [when]: true } : when;
    return this.context.request("clew/entities", { ...this.shown(), ...at });
  }

  way(from: number, to: Goal): Promise<EntityEventsResult> {
    const at = to === "end" ? {} : "moment" in to ? { toMoment: to.moment } : { toNs: Math.max(0, Math.round(to.ns)) };
    return this.context.quietly("clew/entityEvents", { ...this.shown(), fromMoment: from, ...at });
  }

  about(entity: number, moment: number): Promise<EntityResult> {
    return this.context.quietly("clew/entity", this.one(entity, moment));
  }

  /** Where a walk from an entity begins, also of a program that still runs. */
  origin(entity: number, moment: number): Promise<EntityOrigin> {
    return this.context.request("clew/entityOrigin", this.one(entity, moment));
  }

  follow: EntitySource["follow"] = () => {
    return () => undefined;
  };

  private one(entity: number, moment: number): EntityParams {
    const { run, source } = this.asked;
    return { ...(run ? { run } : {}), ...(source ? { source } : {}), entity, moment };
  }

  private shown(): Pick<EntitiesQuestion, "run" | "source" | "inside" | "most"> {
    const { run, source, inside, most } = this.asked;
    return {
      ...(run ? { run } : {}),
      ...(source ? { source } : {}),
      ...(inside === undefined ? {} : { inside }),
      ...(most === undefined ? {} : { most }),
    };
  }
}

/** How often more is asked for after a notification, and how long after the last time in ms: so that an event is seen within a quarter of a second. */
const MORE = 8;
const MORE_MS = 110;
/** Where no relay is to be had that would tell of it: once between two notifications. */
const UNHEARD_MS = 500;
const NOTHING = { changed: [], removed: [], lines: [], hiddenLines: 0, unseen: 0 };

/** What a program that still runs has recorded so far; the host says when there is more. */
export class LiveEntities extends RecordedEntities {
  /** Of what was asked for, which may be named otherwise. */
  private run = "";
  /** Why it comes late: no relay tells of it. */
  unheard = "";

  override async state(when: Parameters<EntitySource["state"]>[0]): Promise<EntitiesResult> {
    const answer = await super.state(when);
    this.run = answer.run.id;
    return answer;
  }

  /** Of a run that has ended nothing more is told here: the whole run has its own numbers. */
  override async way(from: number, to: Goal): Promise<EntityEventsResult> {
    const answer = await super.way(from, to);
    return answer.finished ? { ...answer, ...NOTHING, fromMoment: from, toMoment: from, fromNs: answer.toNs } : answer;
  }

  override follow: EntitySource["follow"] = (listener) => {
    let left = MORE;
    let timer: ReturnType<typeof setTimeout> | undefined;
    // Between two notifications as much again, so that it looks less abrupt.
    const next = (): void => {
      if (left === 0) return;
      left -= 1;
      timer = setTimeout(
        () => {
          listener(false);
          next();
        },
        this.unheard ? UNHEARD_MS : MORE_MS,
      );
    };
    let told = false;
    const end = this.context.followRuns(({ run, finished, pushed, unheard }) => {
      if (run !== this.run) return;
      clearTimeout(timer);
      told ||= pushed;
      this.unheard = pushed ? "" : unheard;
      listener(finished);
      // Who is told of everything at once needs to ask no more than that.
      left = finished || told ? 0 : this.unheard ? 1 : MORE;
      next();
    });
    // A relay that is started for it takes a second until it tells of everything.
    next();
    return () => {
      clearTimeout(timer);
      end();
    };
  };
}
