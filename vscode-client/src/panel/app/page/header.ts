/** The header of the page: the tabs of the views, the controls of the current view with the search box, and the history. */
import { html, nothing, type TemplateResult } from "lit";
import type { RunRef } from "../../../shared/protocol";
import { thousands } from "../../ui/text/format";
import { askedOf, decode, DEFAULT_LEVEL, type Place } from "../place";
import { stepped, type Trail } from "../trail";
import type { SharedState } from "../store";
import type { View, ViewManifest } from "../../views/contract";
import { type CopyChoice, copyMenu } from "../copy/menu";
import { icon } from "../../ui/icons";
import { runOptions } from "../../ui/runs";
import { linkButton } from "../../ui/parts";

export interface HeaderActions {
  readonly manifests: readonly ViewManifest[];
  readonly manifest: ViewManifest | undefined;
  /** Undefined while it is loaded. */
  readonly view: View | undefined;
  readonly levels: readonly string[];
  readonly trail: Trail;
  /** The run that is shown, by id or name. */
  readonly run: string;
  go(view: string, question: object): void;
  look(change: Partial<Place>): void;
  showView(view: string): void;
  move(by: number): void;
  pickRun(run: string): Promise<void>;
  /** The run picker opens: refresh the live runs of other workspaces. */
  lookElsewhere(): void;
  showHelp(shown: boolean): void;
  readonly copying: { toggle(): void; copy(choice: CopyChoice): Promise<void> };
}

/** Steps of the way back that are named. */
const NAMED_STEPS = 4;
const LONGEST_STEP = 40;

export function drawHeader(state: Readonly<SharedState>, actions: HeaderActions): TemplateResult {
  const { place, runs } = state;
  const { manifests, manifest, view } = actions;
  const elsewhere = manifest?.watches ? state.otherWorkspaces : [];
  const asked = [
    manifest?.inRun && runs.length + elsewhere.length > 0
      ? runPicker(runs, elsewhere, actions, manifest.watches === true)
      : nothing,
    manifest && manifest.levels !== "none" ? levelPicker(place, manifest, actions) : nothing,
    view?.controls?.() ?? nothing,
    view ? searchBox(place, view, actions) : nothing,
  ];
  return html`<header>
      <h1 class="unseen">clew${manifest ? `: ${manifest.title}` : ""}</h1>
      <div class="header-row">
        <nav class="tabs" aria-label="Views">
          ${manifests.map(
            (one) =>
              html`<button
                type="button"
                title=${one.key ? `${one.hint} (g ${one.key})` : one.hint}
                aria-current=${one === manifest ? "page" : "false"}
                @click=${() => {
                  actions.showView(one.name);
                }}
              >
                ${one.title}
              </button>`,
          )}
        </nav>
        ${moveButtons(actions)}
        <output class="said">${state.notification}</output>
        ${copyMenu(
          state.copyable,
          () => {
            actions.copying.toggle();
          },
          (choice) => {
            void actions.copying.copy(choice);
          },
        )}
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
      </div>
      ${asked.some((one) => one !== nothing) ? html`<div class="header-row asked-for">${asked}</div>` : nothing}
    </header>
    ${wayBack(actions)}`;
}

function moveButtons(actions: HeaderActions): TemplateResult | typeof nothing {
  const { trail } = actions;
  if (trail.states.length < 2) return nothing;
  const button = (by: -1 | 1, name: "back" | "forward", title: string): TemplateResult =>
    html`<button
      type="button"
      class="quiet"
      title=${title}
      aria-label=${name === "back" ? "Back" : "Forward"}
      ?disabled=${!stepped(trail, by)}
      @click=${() => {
        actions.move(by);
      }}
    >
      ${icon(name)}
    </button>`;
  return html`<div class="choice moves" role="group" aria-label="History">
    ${button(-1, "back", "Back to the previous question (Alt+Left)")} ${button(1, "forward", "Forward (Alt+Right)")}
  </div>`;
}

/** Where one came from: view and question in words, the last one nearest. */
function wayBack(actions: HeaderActions): TemplateResult | typeof nothing {
  const { trail, manifests } = actions;
  if (trail.at === 0) return nothing;
  const from = Math.max(0, trail.at - NAMED_STEPS);
  const steps = trail.states.slice(from, trail.at).map((state, index) => {
    const place = decode(state, manifests);
    const manifest = manifests.find((one) => one.name === place.view);
    const said = manifest ? `${manifest.title}: ${manifest.describe(askedOf(place, manifest))}` : "";
    const by = from + index - trail.at;
    return html`<li>
      ${linkButton(
        said.length > LONGEST_STEP ? `${said.slice(0, LONGEST_STEP - 1)}…` : said,
        () => {
          actions.move(by);
        },
        said,
      )}
    </li>`;
  });
  return html`<nav class="way" aria-label="Previous questions">
    ${from > 0 ? html`<span class="muted" title="And ${from} before">…</span>` : nothing}
    <ol>
      ${steps}
    </ol>
  </nav>`;
}

function runPicker(
  runs: readonly RunRef[],
  elsewhere: readonly RunRef[],
  actions: HeaderActions,
  watches: boolean,
): TemplateResult {
  const look = (): void => {
    if (watches) actions.lookElsewhere();
  };
  return html`<label class="picker run" @pointerenter=${look} @focusin=${look}
    ><span class="word">Run</span>
    <select
      aria-label="Run"
      @change=${(event: Event) => void actions.pickRun((event.target as HTMLSelectElement).value)}
    >
      ${runs.length === 0 ? html`<option value="" disabled .selected=${actions.run === ""}>no runs</option>` : nothing}
      ${runOptions(runs, actions.run)}
      ${
        elsewhere.length > 0
          ? html`<optgroup label="Live runs of other workspaces">${runOptions(elsewhere, actions.run)}</optgroup>`
          : nothing
      }
    </select></label
  >`;
}

function levelPicker(place: Place, manifest: ViewManifest, actions: HeaderActions): TemplateResult {
  const asked: { level?: unknown } = askedOf(place, manifest);
  const chosen = typeof asked.level === "string" ? asked.level : DEFAULT_LEVEL;
  const { levels: known } = actions;
  const levels = known.includes(chosen) ? known : [chosen, ...known];
  return html`<label class="picker level"
    ><span class="word">Level</span>
    <select
      aria-label="Level of detail"
      @change=${(event: Event) => {
        actions.go(manifest.name, { ...asked, level: (event.target as HTMLSelectElement).value });
      }}
    >
      ${levels
        .filter((level) => manifest.levels === "events" || level !== "event")
        .map((level) => html`<option value=${level} .selected=${level === chosen}>${level}</option>`)}
    </select></label
  >`;
}

function searchBox(place: Place, view: View, actions: HeaderActions): TemplateResult | typeof nothing {
  const found = view.found?.();
  if (!found) return nothing;
  const result = found.matches === 0 ? "none" : (found.said ?? `${found.matches} of ${thousands(found.all)}`);
  return html`<label class="search">
    <input
      id="search"
      type="search"
      placeholder="Search ( / )"
      aria-label="Search this view"
      autocomplete="off"
      spellcheck="false"
      .value=${place.search}
      @input=${(event: Event) => {
        actions.look({ search: (event.target as HTMLInputElement).value });
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
