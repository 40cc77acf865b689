/** The bar above the views: which view, run, level and direction, and the search. */
import { html, nothing, type TemplateResult } from "lit";
import "@vscode-elements/elements/dist/vscode-checkbox/index.js";
import { thousands } from "../model/format";
import { DEFAULT_LEVEL, describeTarget, isOfOneRun, type Place, type ViewName } from "../model/place";
import type { Shared } from "../store";
import type { View } from "../views/view";
import { icon } from "./icons";
import { runOptions } from "./runs";

export interface HeaderActions {
  /** The run that is shown, by id or name. */
  readonly run: string;
  go(change: Partial<Place>): void;
  remember(change: Partial<Place>): void;
  showView(view: ViewName): void;
  pickRun(run: string): Promise<void>;
  showHelp(shown: boolean): void;
}

export function drawHeader(
  state: Readonly<Shared>,
  views: readonly View[],
  levels: readonly string[],
  actions: HeaderActions,
): TemplateResult {
  const { place, runs } = state;
  const current = views.find((view) => view.name === place.view);
  return html`<header>
    <nav class="tabs" aria-label="Views">
      ${views.map(
        (view) =>
          html`<button
            type="button"
            title=${view.hint}
            aria-current=${view === current ? "page" : "false"}
            @click=${() => {
              actions.showView(view.name);
            }}
          >
            ${view.title}
          </button>`,
      )}
    </nav>
    ${current?.canUnhandle() ? backButton(current) : nothing}
    ${
      !isOfOneRun(place.view) || runs.length === 0
        ? nothing
        : html`<label class="picker run"
            ><span class="word">Run</span>
            <select
              aria-label="Run"
              @change=${(event: Event) => void actions.pickRun((event.target as HTMLSelectElement).value)}
            >
              ${runOptions(runs, actions.run)}
            </select></label
          >`
    }
    ${levelPicker(place, levels, actions)} ${place.view === "slice" ? sliceControls(place, actions) : nothing}
    <span class="room"></span>
    ${current ? searchBox(place, current, actions) : nothing}
    <button
      type="button"
      class="quiet"
      title="Keys (?)"
      aria-label="Keys"
      @click=${() => {
        actions.showHelp(true);
      }}
    >
      ${icon("help")}
    </button>
  </header>`;
}

function backButton(view: View): TemplateResult {
  return html`<button
    type="button"
    class="quiet"
    title="Back to the question before (Alt+Left)"
    aria-label="Back"
    @click=${() => view.unhandle()}
  >
    ${icon("back")}
  </button>`;
}

function levelPicker(place: Place, known: readonly string[], actions: HeaderActions): TemplateResult | typeof nothing {
  // Suspects are what they are: of a service, a function, or an instance.
  if (place.view === "suspects") return nothing;
  const chosen = place[place.view].level ?? DEFAULT_LEVEL;
  const levels = known.includes(chosen) ? known : [chosen, ...known];
  const change = (level: string): void => {
    actions.go({ [place.view]: { ...place[place.view], level } });
  };
  return html`<label class="picker level"
    ><span class="word">Level</span>
    <select
      aria-label="Level of detail"
      @change=${(event: Event) => {
        change((event.target as HTMLSelectElement).value);
      }}
    >
      ${levels
        .filter((level) => place.view === "slice" || level !== "event")
        .map((level) => html`<option value=${level} .selected=${level === chosen}>${level}</option>`)}
    </select></label
  >`;
}

function sliceControls(place: Place, actions: HeaderActions): TemplateResult {
  const direction = place.slice.direction ?? "backward";
  const choice = (value: "backward" | "forward", word: string, title: string): TemplateResult =>
    html`<button
      type="button"
      aria-pressed=${direction === value ? "true" : "false"}
      title=${title}
      @click=${() => {
        if (direction !== value) actions.go({ slice: { ...place.slice, direction: value } });
      }}
    >
      ${word}
    </button>`;
  return html`<div class="choice" role="group" aria-label="Direction">
      ${choice("backward", "Causes", `What led to ${describeTarget(place.slice.target)}`)}
      ${choice("forward", "Effects", `What came of ${describeTarget(place.slice.target)}`)}
    </div>
    <vscode-checkbox
      label="Critical path"
      title="Show where the time went (p)"
      .checked=${place.showPath}
      @change=${(event: Event) => {
        actions.remember({ showPath: (event.target as HTMLInputElement).checked });
      }}
    ></vscode-checkbox>`;
}

function searchBox(place: Place, view: View, actions: HeaderActions): TemplateResult | typeof nothing {
  const found = view.found?.();
  if (!found) return nothing;
  const result = found.matches === 0 ? "none" : `${found.matches} of ${thousands(found.all)}`;
  return html`<label class="search">
    <input
      id="search"
      type="search"
      placeholder="Search ( / )"
      aria-label="Search the boxes"
      autocomplete="off"
      spellcheck="false"
      .value=${place.search}
      @input=${(event: Event) => {
        actions.remember({ search: (event.target as HTMLInputElement).value });
      }}
      @keydown=${(event: KeyboardEvent) => {
        if (event.key === "Enter") view.nextMatch?.(event.shiftKey ? -1 : 1);
      }}
    />
    ${
      place.search
        ? html`<output class=${found.matches === 0 ? "none" : ""} aria-live="polite">${result}</output>`
        : nothing
    }
  </label>`;
}
