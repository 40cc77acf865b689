/** From an event to everyone's picture at its time, wherever entities can be seen. */
import { nothing, type TemplateResult } from "lit";
import { everyoneAt } from "../model/entities/moment";
import type { Context } from "./view";
import { linkButton } from "../draw/parts";

/** `ns` since the run's start; undefined where no time is known. */
export function everyoneLink(
  { go, has }: Pick<Context, "go" | "has">,
  run: string,
  ns: number | undefined,
): TemplateResult | typeof nothing {
  if (ns === undefined || !has("entities")) return nothing;
  return linkButton(
    "Everyone then",
    () => {
      go("entities", everyoneAt(run, ns));
    },
    "Who was where, and talked to whom, at this moment",
  );
}
