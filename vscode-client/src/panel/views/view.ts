/**
 * The one interface of all views: what is known of each before its code is loaded, what it answers, and what it may use.
 *
 * Invariant: a view draws only what it has handled, and asks only by way of its context; what a question of it consists of,
 * nobody else knows.
 */
import type { nothing, TemplateResult } from "lit";
import type { Location, Method, Methods, RunGrew } from "../../shared/protocol";
import type { Place } from "../model/place";
import type { Question } from "../model/question";
import type { Store } from "../store";
import type { Walker } from "../walker";

/** What is selected from outside: a function of the source, by label and place. */
export interface Selection {
  label: string;
  location: Location | null;
}

/** An event from which a walk can begin. */
export interface SelectedEvent {
  event: number;
  /** Its run, where that may be another one than is shown. */
  run?: string;
}

/** A key that a view answers, for the list of keys. */
export interface Key {
  readonly keys: string;
  readonly what: string;
}

/** A view as it is registered, in the first script: small. `make` loads the rest of it on first use. */
export interface ViewKind<Q extends object = object> {
  readonly name: string;
  /** On its tab. */
  readonly title: string;
  /** What it shows, in a few words, for its tab. */
  readonly hint: string;
  /** The letter that goes to it after `g`; "" for none. */
  readonly key: string;
  /** What it answers itself, besides the keys of all views. */
  readonly keys: readonly Key[];
  readonly question: Question<Q>;
  /** Which levels of detail its question may have: from functions up, single events too, or none at all. */
  readonly levels: "functions" | "events" | "none";
  /** A question in words, for the way back to it. */
  describe(question: Q): string;
  /** The run that a question asks for, "" where it leaves that to the server. */
  askedRun(question: Q): string;
  /** The same question of another run, "" for the one that is selected. Only views of one run have it. */
  inRun?(question: Q, run: string): Q;
  /** Can it show what is being recorded in other workspaces, too? */
  readonly watches?: boolean;
  /** What to ask when one comes from another view by its tab; undefined for what was asked last. */
  following?(from: string, question: object): Q | undefined;
  make(context: Context<Q>): Promise<View<Q>>;
}

export interface View<Q extends object = object, Answer = never> {
  /** Asks the server, then handles the answer. Throws an error for the user. */
  open(question: Q): Promise<void>;
  /** Takes in an answer and shows it from now on. */
  handle(answer: Answer): void;
  /** Lets go of the answer: what is asked now has none. */
  unhandle(): void;
  draw(): TemplateResult;
  select(selection: Selection): void;
  focus(): void;
  /** The id of the run that is shown, which the server chose where none was asked for. */
  shownRun(): string | undefined;
  /** What it is asked beside run and level, in the bar above. */
  controls?(): TemplateResult | typeof nothing;
  /** Keys that the view answers itself; false for one it does not know. */
  key?(event: KeyboardEvent): boolean;
  /** The event of what is selected, from which a walk can begin. */
  event?(): SelectedEvent | undefined;
  /** What the search box found, `said` instead of numbers where those would not do; undefined for a view without one. */
  found?(): { matches: number; all: number; said?: string } | undefined;
  /** Goes to the next (1) or previous (-1) match. */
  nextMatch?(by: 1 | -1): void;
}

/** What a view may use of the panel around it. */
export interface Context<Q extends object = object> {
  readonly store: Store;
  /** What this view is asked at the present place. */
  readonly question: Q;
  /** Counts as busy while it runs. */
  request<M extends Method>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]>;
  /** The same without the progress bar, for what is asked at every step and soon answered; it is not kept. */
  quietly<M extends Method>(
    method: M,
    params: Methods[M]["params"],
    signal?: AbortSignal,
  ): Promise<Methods[M]["result"]>;
  /** Shows a place in the editor, or in the drawer where there is none. */
  reveal(location: Location | null): void;
  /** Asks this view something else, which can be undone. */
  ask(question: Q): void;
  /** Goes to another view, with a question of it: what is wrong with that is left out. */
  go(view: string, question: object): void;
  /** Is there such a view? A report has only those that it has answers for. */
  has(view: string): boolean;
  /** Remembers what this view is asked without asking it. */
  remember(question: Q): void;
  /** The walk, which goes on in all views. */
  readonly walker: Walker;
  /** Changes what all views share. */
  look(change: Partial<Pick<Place, "flow" | "search">>): void;
  /** Calls `listener` whenever there is more of a run that is being recorded, at most once a second; gives what ends that. */
  followRuns(listener: (growth: RunGrew) => void): () => void;
}

const registry = new Map<string, ViewKind>();

export function registerView<Q extends object>(kind: ViewKind<Q>): void {
  registry.set(kind.name, kind);
}

/** Forgets all others: a report has no answers for them. */
export function keepViews(names: ReadonlySet<string>): void {
  for (const name of registry.keys()) if (!names.has(name)) registry.delete(name);
}

/** In the order of their registration, which is that of the tabs. */
export function viewKinds(): readonly ViewKind[] {
  return [...registry.values()];
}
