/**
 * The state that all views share, with change notification.
 *
 * Invariant: the state is replaced, never changed in place, and listeners run once per turn regardless of the number of changes.
 */
import type { RunRef, SourceResult } from "../../shared/protocol";
import type { CopyChoice } from "./copy/menu";
import type { Walk } from "../../shared/walk";
import type { Place } from "./place";

export interface SharedState {
  place: Place;
  workspace: string;
  runs: RunRef[];
  /** The run that the editor's code lenses show. */
  selectedRun: string;
  /** The run that the editor compares with, empty for none. */
  baseline: string;
  runsKnown: boolean;
  /** Live runs of other workspaces of the machine, as of the last refresh; ids are folders. */
  otherWorkspaces: readonly RunRef[];
  /** Requests under way. */
  busy: number;
  error: string;
  /** What the user should know and can do without, as long as they don't dismiss it. */
  notes: readonly string[];
  /** What is under way takes long enough to say so. */
  slow: boolean;
  /** The source in the drawer, in a browser. */
  source: { line: number; answer: SourceResult } | undefined;
  helpShown: boolean;
  /** What can be copied, while that is asked. */
  copyable: readonly CopyChoice[] | undefined;
  /** What was done, for a moment. */
  notification: string;
  maxNodes: number;
  /** The walk that is under way, which all views show. */
  walk: Walk | undefined;
}

export class Store {
  private current: SharedState;
  private readonly listeners = new Set<() => void>();
  private told = true;

  constructor(maxNodes: number, place: Place) {
    this.current = {
      place,
      workspace: "",
      runs: [],
      selectedRun: "",
      baseline: "",
      runsKnown: false,
      otherWorkspaces: [],
      busy: 0,
      error: "",
      notes: [],
      slow: false,
      source: undefined,
      helpShown: false,
      copyable: undefined,
      notification: "",
      maxNodes,
      walk: undefined,
    };
  }

  get state(): Readonly<SharedState> {
    return this.current;
  }

  update(change: Partial<SharedState>): void {
    this.current = { ...this.current, ...change };
    this.changed();
  }

  updatePlace(change: Partial<Place>): void {
    this.update({ place: { ...this.current.place, ...change } });
  }

  /** Tells the listeners although nothing shared changed: a view's own state did. */
  changed(): void {
    if (!this.told) return;
    this.told = false;
    queueMicrotask(() => {
      this.told = true;
      for (const listener of this.listeners) listener();
    });
  }

  /** Gives what ends it. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
