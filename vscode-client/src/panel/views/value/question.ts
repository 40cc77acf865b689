/** The question of the view “Values”. */
import type { HistoryParams, ValueParams } from "../../../shared/protocol";

/** A value at a line, or a state by its name or by the event of a write; without any of them, a failed test. */
export interface ValueQuestion
  extends
    Pick<HistoryParams, "run" | "expression" | "location" | "state" | "event" | "skip">,
    Pick<ValueParams, "test"> {
  /** Whether the user chose the second look, so that the view takes it without a further question. Never in an address. */
  isLook?: boolean;
}

/** What the history is asked for; undefined where the question names no state. */
export function historyParams(asked: ValueQuestion): HistoryParams | undefined {
  const { run, expression, location, state, event, skip } = asked;
  const shared = { ...(run ? { run } : {}), ...(skip === undefined ? {} : { skip }) };
  if (state) return { ...shared, state };
  if (typeof event === "number") return { ...shared, event };
  return expression && location ? { ...shared, expression, location } : undefined;
}

/** What a second look is asked for; undefined where the question names a state, which no second look explains. */
export function valueParams(asked: ValueQuestion): Omit<ValueParams, "isLook"> | undefined {
  const { run, test, expression, location, state, event } = asked;
  if (state || typeof event === "number") return undefined;
  return {
    ...(run ? { run } : {}),
    ...(test ? { test } : {}),
    ...(expression ? { expression } : {}),
    ...(location ? { location } : {}),
  };
}
