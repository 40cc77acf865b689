/** The link from an event to the entities at its time. */
import { nothing, type TemplateResult } from "lit";
import { entitiesAt } from "./question";
import type { Context } from "../contract";
import { linkButton } from "../../ui/parts";

/** `ns` since the run's start; undefined where no time is known. */
export function entitiesLink(
  { go, has }: Pick<Context, "go" | "has">,
  run: string,
  ns: number | undefined,
): TemplateResult | typeof nothing {
  if (ns === undefined || !has("entities")) return nothing;
  return linkButton(
    "Show entities at this time",
    () => {
      go("entities", entitiesAt(run, ns));
    },
    "Show entities, containers and messages at this time",
  );
}
