/**
 * The object that a custom view receives: its access to the panel (docs/views.md).
 *
 * Invariant: no member is removed or changes its meaning; every new member is documented on that page.
 */
import { html, nothing, svg } from "lit";
import type { Location, Method, Methods, RunRef } from "../../../shared/protocol";
import { count, duration, place, thousands } from "../../ui/text/format";
import type { Context } from "../contract";

export interface Clew {
  readonly html: typeof html;
  readonly svg: typeof svg;
  readonly nothing: typeof nothing;
  /** What this view is asked now. */
  readonly question: object;
  /** All runs, the newest first. */
  readonly runs: readonly RunRef[];
  /** The id of the run that is looked at, "" without any. */
  readonly run: string;
  /** The text of the search box. */
  readonly search: string;
  /** Any request of docs/protocol.md. */
  request<M extends Method>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]>;
  /** A SELECT over the tables of a run (docs/store.md): rows as objects by the columns' names. */
  sql(statement: string, parameters?: readonly string[]): Promise<Record<string, string | number | boolean | null>[]>;
  /** Shows a place in the editor. */
  reveal(location: Location | null): void;
  /** Asks this view something else, which can be undone. */
  ask(question: object): void;
  /** Goes to another view, with a question of it. */
  go(view: string, question: object): void;
  /** Draws this view again. */
  redraw(): void;
  /** Calls `listener` whenever runs, search or questions change; gives what ends that. */
  subscribe(listener: () => void): () => void;
  count(number: number, noun: string): string;
  duration(ns: number): string;
  thousands(number: number): string;
  place(location: Location): string;
}

export function clewOf(context: Context): Clew {
  const { store } = context;
  const run = (): string => {
    const asked = "run" in context.question ? context.question.run : "";
    return typeof asked === "string" && asked !== "" ? asked : store.state.selectedRun;
  };
  return {
    html,
    svg,
    nothing,
    get question() {
      return context.question;
    },
    get runs() {
      return store.state.runs;
    },
    get run() {
      return run();
    },
    get search() {
      return store.state.place.search;
    },
    request: (method, params) => context.request(method, params),
    async sql(statement, parameters = []) {
      const of = run();
      const answer = await context.request("clew/sql", {
        statement,
        parameters: [...parameters],
        ...(of ? { run: of } : {}),
      });
      return answer.rows.map((row) => Object.fromEntries(answer.columns.map((name, at) => [name, row[at] ?? null])));
    },
    reveal: (location) => {
      context.reveal(location);
    },
    ask: (question) => {
      context.ask(question);
    },
    go: (view, question) => {
      context.go(view, question);
    },
    redraw: () => {
      // A view that asks for this while it draws must not keep the page from everything else.
      requestAnimationFrame(() => {
        store.changed();
      });
    },
    subscribe: (listener) =>
      store.subscribe(() => {
        try {
          listener();
        } catch (error) {
          console.warn(error); // the error belongs to the custom view, and other listeners must run as well
        }
      }),
    count,
    duration,
    thousands,
    place: ({ path, line }) => place(path, line, store.state.workspace),
  };
}
