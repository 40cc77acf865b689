/** Questions about an event, a message, a location or a function of one run. */
import type { Target } from "../../shared/protocol";
import { DEFAULT_LEVEL } from "../app/place";
import { describeTarget } from "../app/question";

export interface Targeted {
  target: Target;
  run?: string;
  level?: string;
}

/** The same question of another run, in which an event's number means another event. */
export function inRun<Q extends Targeted>(question: Q, run: string): Q {
  const target = typeof question.target.event === "number" ? {} : question.target;
  return withRun({ ...question, target }, run);
}

/** Of the run that is selected where `run` is "". */
export function withRun<Q extends { run?: string }>(question: Q, run: string): Q {
  const { run: _old, ...rest } = question;
  return { ...rest, ...(run ? { run } : {}) } as Q;
}

/** The target, and the level where it is not the usual one. */
export function describeTargeted({ target, level = DEFAULT_LEVEL }: Targeted): string {
  return `${describeTarget(target)}${level === DEFAULT_LEVEL ? "" : `, by ${level}`}`;
}
