/**
 * The causal chain as lines, from the asked event back to the first cause.
 *
 * Invariant: one line per step, in the order of the server; each line but the last names its dependence on the next.
 */
import type { ChainStep } from "../../../shared/protocol";
import { count, offset, shortLabel } from "../../ui/text/format";

export interface ChainLine {
  number: number;
  title: string;
  detail: string;
  where: string;
  time: string;
  /** What leads from this line to the next, empty for the last. */
  because: string;
  kind: "use" | "sync" | "state" | "scope";
  /** Does the next line happen in another process? */
  crosses: boolean;
  /** What the next line's clock and this one's were put together by, empty on one machine. */
  clock: string;
  /** What is missing on the way to the next line, a sentence each. */
  missing: string[];
  step: ChainStep;
}

/** `edge` of a step is the edge by which the step before it, the later one, depends on it. */
export function chainLines(chain: readonly ChainStep[], processes: ReadonlyMap<string, string>): ChainLine[] {
  return chain.map((step, index) => {
    const next = chain[index + 1];
    return {
      number: index + 1,
      title: shortLabel(step.title),
      // The other causes have a button of their own.
      detail: step.detail.replace(/(^| · )\d[\d,]* other causes?$/, ""),
      where: [processes.get(step.process) ?? step.process, step.strand].filter(Boolean).join(" · "),
      time: `${step.uncertain ? "≈ " : ""}${offset(step.timeNs)}`,
      because: next ? because(next) : "",
      kind: kind(next?.edge),
      crosses: next !== undefined && next.process !== step.process,
      clock: next?.clock ?? "",
      missing: [
        ...step.gaps.map((gap) => gap.text),
        step.hiddenGaps > 0 ? count(step.hiddenGaps, "more gap") : "",
      ].filter(Boolean),
      step,
    };
  });
}

function because(next: ChainStep): string {
  const what = [next.channel, next.key].filter(Boolean).join(" ");
  switch (next.edge) {
    case "state":
      return what ? `last changed by: ${what}` : "last changed by";
    case "sync":
      return what ? `released by: ${what}` : "released by";
    case "use":
      return what ? `caused by: ${what}` : "caused by";
    default:
      return what ? `part of: ${what}` : "part of";
  }
}

function kind(edge: string | undefined): ChainLine["kind"] {
  return edge === "use" || edge === "sync" || edge === "state" ? edge : "scope";
}
