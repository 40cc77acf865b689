/** The question of the entities view, at a time and without one. */
export interface EntitiesQuestion {
  run?: string;
  source?: "" | "spec" | "strands";
  /** Undefined for what `ns` says. */
  moment?: number;
  /** What happened by then, since the run's start; undefined for where most are there. */
  ns?: number;
  inside?: number;
  most?: number;
  /** A drawing: `auto`, or one by its name. */
  layout?: string;
}

/** All of a run at a time since its start. */
export function entitiesAt(run: string, ns: number): EntitiesQuestion {
  return { ...(run ? { run } : {}), ns: Math.max(0, Math.round(ns)) };
}

/** The same question at no particular time. */
export function withoutTime(question: EntitiesQuestion): EntitiesQuestion {
  const { moment: _moment, ns: _ns, ...rest } = question;
  return rest;
}
