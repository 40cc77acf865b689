/** The differences between two flows as sentences, for readers and for stepping through them. */
import { type Flow, type FlowCall, isMoved, subtree } from "./flow";
import { pairWords } from "./nodeTexts";
import { change, count, duration } from "../../../../ui/text/format";
import { probability } from "../../../../ui/text/probability";
import { growth, type Significance } from "./significance";

export interface Difference {
  id: string;
  kind: "before" | "after" | "moved" | "slower";
  sentence: string;
  /** How much of the time it is. */
  growthNs: number;
}

/** The largest difference comes first. A branch on only one side is one difference, reported at its first call. */
export function differences(flow: Flow, found: Significance): Difference[] {
  const told: Difference[] = [];
  for (const call of flow.calls) {
    const parent = flow.byId.get(call.parent);
    if (call.status !== "both") {
      if (parent?.status === call.status) continue;
      told.push(branch(flow, call, call.status));
    } else if (isMoved(call) && call.callers.before !== "" && call.callers.after !== "") {
      const names = [flow.byId.get(call.callers.before)?.name, flow.byId.get(call.callers.after)?.name];
      const sentence = `${call.name} is called by ${names[1] ?? "no recorded call"} instead of ${names[0] ?? "no recorded call"}`;
      told.push({ id: call.id, kind: "moved", sentence, growthNs: growth(call) });
    }
    if (found.calls.has(call.id)) {
      const { before, after } = call.times;
      const sentence = `${call.name}: self time ${pairWords(before?.ownNs ?? 0, after?.ownNs ?? 0)} (${change(growth(call))}), ${probability(call.p)}`;
      told.push({ id: call.id, kind: "slower", sentence, growthNs: growth(call) });
    }
  }
  return told.sort((a, b) => Math.abs(b.growthNs) - Math.abs(a.growthNs));
}

function branch(flow: Flow, call: FlowCall, side: "before" | "after"): Difference {
  const calls = subtree(flow, call.id).filter((one) => one.status === side);
  const own = calls.reduce((sum, one) => sum + (one.times[side]?.ownNs ?? 0), 0);
  const more = calls.length > 1 ? ` and ${count(calls.length - 1, "call")} below it` : "";
  const sentence = `${call.name}${more} only ${side}, ${duration(own)} in total`;
  return { id: call.id, kind: side, sentence, growthNs: side === "after" ? own : -own };
}
