/** The pickers of the entities view: the layout and the kind of entities. */
import { html, type TemplateResult } from "lit";
import type { EntitiesResult } from "../../../../shared/protocol";
import type { DrawingKind } from "../drawings/contract";

export interface LayoutChoice {
  kinds: readonly DrawingKind[];
  /** One of them. */
  kind: DrawingKind;
  /** What it chose itself, in words. */
  said: string;
}

export function entityPickers(
  { kinds, kind, said }: LayoutChoice,
  source: EntitiesResult["source"],
  draws: (layout: string) => void,
  ask: (source: EntitiesResult["source"]) => void,
): TemplateResult {
  return html`<label class="picker" title=${kind.hint}
      ><span class="word">Layout</span>
      <select
        aria-label="Layout"
        @change=${(event: Event) => {
          draws((event.target as HTMLSelectElement).value);
        }}
      >
        ${kinds.map(
          (one) =>
            html`<option value=${one.name} .selected=${one.name === kind.name}>
              ${one.title}${one.name === kind.name && said ? `: ${said}` : ""}
            </option>`,
        )}
      </select></label
    >
    <label class="picker"
      ><span class="word">Of</span>
      <select
        aria-label="Kind of entities"
        @change=${(event: Event) => {
          ask((event.target as HTMLSelectElement).value === "spec" ? "spec" : "strands");
        }}
      >
        <option value="spec" .selected=${source === "spec"}>entities of the spec</option>
        <option value="strands" .selected=${source === "strands"}>processes, threads, tasks</option>
      </select></label
    >`;
}
