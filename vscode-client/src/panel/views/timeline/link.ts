/** Questions for the timeline from other views. */
import type { TimelineParams } from "../../../shared/protocol";

/** The timeline's question for an interval of a run, with some room around it. */
export function intervalQuestion(run: string, fromNs: number, toNs: number): TimelineParams {
  const room = Math.max(1000, Math.ceil((toNs - fromNs) * 0.1));
  return { run, fromNs: Math.max(0, Math.floor(fromNs) - room), toNs: Math.ceil(toNs) + room };
}

/** The same of a moment, with a fiftieth of the run around it. */
export function momentQuestion(run: string, ns: number, whole: { fromNs: number; toNs: number }): TimelineParams {
  const room = (whole.toNs - whole.fromNs) / 100;
  return intervalQuestion(run, ns - room, ns + room);
}
