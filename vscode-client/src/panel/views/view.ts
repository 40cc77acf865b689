/**
 * The one interface of all views, and the registry that knows them by name.
 *
 * Invariant: a view draws only what it has handled; `unhandle` takes back exactly what the last `handle` did.
 */
import type { TemplateResult } from "lit";
import type { Location, Method, Methods } from "../../shared/protocol";
import type { Place, ViewName } from "../model/place";
import type { Store } from "../store";

/** What is selected from outside: a function of the source, by label and place. */
export interface Selection {
  label: string;
  location: Location | null;
}

export interface View<Answer = never> {
  readonly name: ViewName;
  readonly title: string;
  /** What it shows, in a few words, for its tab. */
  readonly hint: string;
  /** Asks the server what the place asks, then handles the answer. Throws an error for the user. */
  open(place: Place): Promise<void>;
  /** Takes in an answer and shows it from now on. */
  handle(answer: Answer): void;
  /** Takes back the newest answer and shows the one before; false when there is none. */
  unhandle(): boolean;
  canUnhandle(): boolean;
  draw(): TemplateResult;
  select(selection: Selection): void;
  focus(): void;
  /** The id of the run that is shown, which the server chose where none was asked for. */
  shownRun(): string | undefined;
  /** Keys that the view answers itself; false for one it does not know. */
  key?(event: KeyboardEvent): boolean;
  /** What the search box found, or undefined for a view without one. */
  found?(): { matches: number; all: number };
  /** Goes to the next (1) or previous (-1) match. */
  nextMatch?(by: 1 | -1): void;
}

/** What a view may use of the panel around it. */
export interface Context {
  readonly store: Store;
  /** Counts as busy while it runs. */
  request<M extends Method>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]>;
  /** Shows a place in the editor, or in the drawer where there is none. */
  reveal(location: Location | null): void;
  /** Goes to another place: asks what it asks, and remembers it. */
  go(change: Partial<Place>): void;
  /** Remembers the present place without asking anything. */
  remember(change: Partial<Place>): void;
}

type Make = (context: Context) => View;

const registry = new Map<ViewName, Make>();

export function registerView(name: ViewName, make: Make): void {
  registry.set(name, make);
}

export function makeViews(context: Context): View[] {
  return [...registry.values()].map((make) => make(context));
}
