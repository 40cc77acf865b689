/** Above the views: their tabs; what the one that is shown is asked, with the search; and the way one came. */
import { html, nothing, type TemplateResult } from "lit";
import type { RunRef } from "../../shared/protocol";
import { thousands } from "../model/format";
import { askedOf, decode, DEFAULT_LEVEL, type Place } from "../model/place";
import { moved, type Trail } from "../model/trail";
import type { Shared } from "../store";
import type { View, ViewKind } from "../views/view";
import { type Choice, copyMenu } from "./copyMenu";
import { icon } from "./icons";
import { runOptions } from "./runs";
import { linkButton } from "./parts";

export interface HeaderActions {
  readonly kinds: readonly ViewKind[];
  readonly kind: ViewKind | undefined;
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
  /** Somebody is about to choose a run: which go on elsewhere now? */
  lookElsewhere(): void;
  showHelp(shown: boolean): void;
  readonly copying: { toggle(): void; copy(choice: Choice): Promise<void> };
}

/** Steps of the way back that are named. */
const NAMED_STEPS = 4;
const LONGEST_STEP = 40;

export function drawHeader(state: Readonly<Shared>, actions: HeaderActions): TemplateResult {
  const { place, runs } = state;
  const { kinds, kind, view } = actions;
  const elsewhere = kind?.watches ? state.elsewhere : [];
  const asked = [
    kind?.inRun && runs.length + elsewhere.length > 0
      ? runPicker(runs, elsewhere, actions, kind.watches === true)
      : nothing,
    kind && kind.levels !== "none" ? levelPicker(place, kind, actions) : nothing,
    view?.controls?.() ?? nothing,
    view ? searchBox(place, view, actions) : nothing,
  ];
  return html`<header>
      <h1 class="unseen">clew${kind ? `: ${kind.title}` : ""}</h1>
      <div class="header-row">
        <nav class="tabs" aria-label="Views">
          ${kinds.map(
            (one) =>
              html`<button
                type="button"
                title=${one.key ? `${one.hint} (g ${one.key})` : one.hint}
                aria-current=${one === kind ? "page" : "false"}
                @click=${() => {
                  actions.showView(one.name);
                }}
              >
                ${one.title}
              </button>`,
          )}
        </nav>
        ${moveButtons(actions)}
        <output class="said">${state.said}</output>
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
      ?disabled=${!moved(trail, by)}
      @click=${() => {
        actions.move(by);
      }}
    >
      ${icon(name)}
    </button>`;
  return html`<div class="choice moves" role="group" aria-label="Way">
    ${button(-1, "back", "Back to the question before (Alt+Left)")} ${button(1, "forward", "Forward again (Alt+Right)")}
  </div>`;
}

/** Where one came from: view and question in words, the last one nearest. */
function wayBack(actions: HeaderActions): TemplateResult | typeof nothing {
  const { trail, kinds } = actions;
  if (trail.at === 0) return nothing;
  const from = Math.max(0, trail.at - NAMED_STEPS);
  const steps = trail.states.slice(from, trail.at).map((state, index) => {
    const place = decode(state, kinds);
    const kind = kinds.find((one) => one.name === place.view);
    const said = kind ? `${kind.title}: ${kind.describe(askedOf(place, kind))}` : "";
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
  return html`<nav class="way" aria-label="Where you came from">
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
      ${runs.length === 0 ? html`<option value="" disabled .selected=${actions.run === ""}>none here</option>` : nothing}
      ${runOptions(runs, actions.run)}
      ${
        elsewhere.length > 0
          ? html`<optgroup label="Recorded now in other workspaces">${runOptions(elsewhere, actions.run)}</optgroup>`
          : nothing
      }
    </select></label
  >`;
}

function levelPicker(place: Place, kind: ViewKind, actions: HeaderActions): TemplateResult {
  const asked: { level?: unknown } = askedOf(place, kind);
  const chosen = typeof asked.level === "string" ? asked.level : DEFAULT_LEVEL;
  const { levels: known } = actions;
  const levels = known.includes(chosen) ? known : [chosen, ...known];
  return html`<label class="picker level"
    ><span class="word">Level</span>
    <select
      aria-label="Level of detail"
      @change=${(event: Event) => {
        actions.go(kind.name, { ...asked, level: (event.target as HTMLSelectElement).value });
      }}
    >
      ${levels
        .filter((level) => kind.levels === "events" || level !== "event")
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
      aria-label="Search in what is shown"
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
