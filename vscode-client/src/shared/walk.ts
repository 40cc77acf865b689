/**
 * The state of a walk: visited events, the current event and its neighbours. The panel and its host share this code.
 *
 * Invariant: a walk is immutable data, so either side can adopt the other's walk. A step without a destination changes only the message.
 */
import type { WalkParams, WalkResult } from "./protocol";

export const WAYS = ["cause", "effect", "previous", "next", "out", "in"] as const;
export type Way = (typeof WAYS)[number];
export type Step = Way | "back" | "forward";

export interface Visited {
  event: number;
  title: string;
}

export interface Walk {
  visited: readonly Visited[];
  /** Index of the current event in `visited`. */
  at: number;
  result: WalkResult;
}

export type AskWalk = (params: WalkParams) => Promise<WalkResult>;

/** Visited events that can be gone back to. */
const KEPT = 200;

/** A new walk. Throws an error for the user where there is nothing to walk from. */
export async function begin(ask: AskWalk, params: WalkParams): Promise<Walk> {
  const result = await ask(params);
  if (!result.card) throw new Error(result.message || "No event to walk from.");
  return { visited: [{ event: result.card.event, title: result.card.title }], at: 0, result };
}

export async function stepped(ask: AskWalk, walk: Walk, step: Step, choice = 0): Promise<Walk> {
  if (step === "back" || step === "forward")
    return turned(ask, walk, step === "back" ? walk.at - 1 : walk.at + 1, step);
  const result = await ask({ target: { event: standing(walk) }, run: walk.result.run.id, step, choice });
  return result.moved ? onward(walk, result) : { ...walk, result };
}

/** To an event that is known, by the step that leads there where there is one. */
export async function visit(ask: AskWalk, walk: Walk, event: number): Promise<Walk> {
  const place = walk.visited.findIndex((one) => one.event === event);
  if (place >= 0) return turned(ask, walk, place, place < walk.at ? "back" : "forward");
  for (const way of walk.result.ways) {
    const choice = way.ends.findIndex((end) => end.event === event);
    if (choice >= 0) return stepped(ask, walk, way.step, choice);
  }
  return onward(walk, await ask({ target: { event }, run: walk.result.run.id }));
}

export function standing(walk: Walk): number {
  return walk.visited[walk.at]?.event ?? -1;
}

async function turned(ask: AskWalk, walk: Walk, at: number, step: Step): Promise<Walk> {
  const to = walk.visited[at];
  if (!to) {
    const sentence = step === "back" ? "the walk began here" : "nothing was visited after this";
    return { ...walk, result: { ...walk.result, step, moved: false, sentence, ends: [], gaps: [] } };
  }
  const result = await ask({ target: { event: to.event }, run: walk.result.run.id });
  return { ...walk, at, result: { ...result, step } };
}

function onward(walk: Walk, result: WalkResult): Walk {
  if (!result.card) return { ...walk, result: { ...walk.result, sentence: result.message, moved: false } };
  const { event, title } = result.card;
  const visited = [...walk.visited.slice(0, walk.at + 1), { event, title }].slice(-KEPT);
  return { visited, at: visited.length - 1, result };
}
