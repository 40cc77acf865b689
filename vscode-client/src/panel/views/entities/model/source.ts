/**
 * The source of entity states: a recording, or a live run, which delivers more over time.
 *
 * Invariant: an entity has the same number in all answers of a source.
 */
import type {
  EntitiesResult,
  EntityEventsResult,
  EntityOrigin,
  EntityParams,
  EntityResult,
} from "../../../../shared/protocol";
import type { Context } from "../../contract";
import type { EntitiesQuestion } from "../question";

/** A moment by its number, or all that happened by a time, or at all. */
export type Goal = { moment: number } | { ns: number } | "end";

export type Glance = "fullest" | "beforeEnd";

export interface EntitySource {
  /** "fullest": when most are there; "beforeEnd": before those go with whom a program ends. */
  state(when: Goal | Glance): Promise<EntitiesResult>;
  /** From a moment to another, forward or back. */
  way(from: number, to: Goal): Promise<EntityEventsResult>;
  about(entity: number, moment: number): Promise<EntityResult>;
  /** Calls `listener` with new events, which `way` then returns; returns a function that ends this. */
  follow(listener: (isOver: boolean) => void): () => void;
}

/** A recorded run, which does not change. */
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
/** Without a relay: one request between two notifications. */
const UNHEARD_MS = 500;
const NOTHING = { changed: [], removed: [], lines: [], hiddenLines: 0, unseen: 0 };

/** What a program that still runs has recorded so far; the host says when there is more. */
export class LiveEntities extends RecordedEntities {
  /** Of what was asked for, which may be named otherwise. */
  private run = "";
  /** The reason for the delay: no relay is available. */
  unheard = "";

  override async state(when: Parameters<EntitySource["state"]>[0]): Promise<EntitiesResult> {
    const answer = await super.state(when);
    this.run = answer.run.id;
    return answer;
  }

  /** A run that has ended gets no more updates here: the whole run has its own numbers. */
  override async way(from: number, to: Goal): Promise<EntityEventsResult> {
    const answer = await super.way(from, to);
    return answer.finished ? { ...answer, ...NOTHING, fromMoment: from, toMoment: from, fromNs: answer.toNs } : answer;
  }

  override follow: EntitySource["follow"] = (listener) => {
    let left = MORE;
    let timer: ReturnType<typeof setTimeout> | undefined;
    // One more request between two notifications, for a smoother picture.
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
      // A viewer with a relay needs no further requests.
      left = finished || told ? 0 : this.unheard ? 1 : MORE;
      next();
    });
    // A newly started relay needs a second before it reports everything.
    next();
    return () => {
      clearTimeout(timer);
      end();
    };
  };
}
