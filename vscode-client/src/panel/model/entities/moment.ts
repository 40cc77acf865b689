/** Questions of entities at a time, and at none. */
import type { EntitiesQuestion } from "../../kinds/entities";

/** All of a run at a time since its start. */
export function everyoneAt(run: string, ns: number): EntitiesQuestion {
  return { ...(run ? { run } : {}), ns: Math.max(0, Math.round(ns)) };
}

/** The same question at no particular time. */
export function untimed(question: EntitiesQuestion): EntitiesQuestion {
  const { moment: _moment, ns: _ns, ...rest } = question;
  return rest;
}
