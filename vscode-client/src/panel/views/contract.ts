/**
 * The interface of all views: the manifest that is known before a view's code is loaded, the view itself, and its access to the panel.
 *
 * Invariant: a view draws only answers that it has handled, and sends requests only through its context. Only a view knows the fields of
 * its question.
 */
import type { nothing, TemplateResult } from "lit";
import type { Location, Method, Methods, RunGrew } from "../../shared/protocol";
import type { Place } from "../app/place";
import type { Question } from "../app/question";
import type { Store } from "../app/store";
import type { Walk } from "../../shared/walk";
import type { Walker } from "../app/walker";
import type { SelectedEvent, Selection } from "./selection";

/** A key that a view answers, for the list of keys. */
export interface Key {
  readonly keys: string;
  readonly what: string;
}

/** The part of a view that the first script holds. `make` loads the rest on first use. */
export interface ViewManifest<Q extends object = object> {
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
  /** The question to ask when the user comes from another view by its tab; undefined for the last question of this view. */
  following?(from: string, question: object, walk: Walk | undefined): Q | undefined;
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
  /** Further pickers of the view in the header, next to run and level. */
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
  /** The same without the progress bar, for frequent and fast requests; answers are not cached. */
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
  /** The open walk, which all views share. */
  readonly walker: Walker;
  /** Changes what all views share. */
  look(change: Partial<Pick<Place, "flow" | "search">>): void;
  /** Calls `listener` whenever there is more of a run that is being recorded, at most once a second; gives what ends that. */
  followRuns(listener: (growth: RunGrew) => void): () => void;
}
