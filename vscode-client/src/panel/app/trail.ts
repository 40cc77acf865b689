/**
 * The history of the panel: visited places as texts, and the index of the current one.
 *
 * Invariant: `at` is a valid index; adding a place drops the places after the current one.
 */

export interface Trail {
  readonly states: readonly string[];
  readonly at: number;
}

/** Steps that can be undone. */
const KEPT = 50;

export function startTrail(state: string): Trail {
  return { states: [state], at: 0 };
}

export function current({ states, at }: Trail): string {
  return states[at] ?? "";
}

/** On to another place. */
export function extended({ states, at }: Trail, state: string): Trail {
  const kept = [...states.slice(0, at + 1), state].slice(-KEPT - 1);
  return { states: kept, at: kept.length - 1 };
}

/** The same place, looked at otherwise. */
export function replaced({ states, at }: Trail, state: string): Trail {
  return { states: states.with(at, state), at };
}

/** To the place `by` steps on, or back where it is negative; undefined where there is none. */
export function stepped({ states, at }: Trail, by: number): Trail | undefined {
  return at + by in states ? { states, at: at + by } : undefined;
}

/** A trail of what was saved by someone, or undefined. */
export function savedTrail(value: unknown): Trail | undefined {
  if (typeof value !== "object" || value === null || !("states" in value) || !("at" in value)) return undefined;
  const { states, at } = value;
  if (!Array.isArray(states) || !states.every((one) => typeof one === "string")) return undefined;
  return typeof at === "number" && at in states ? { states, at } : undefined;
}
