/** What a module of a custom view exports (docs/views.md). */
import type { Key } from "../contract";
import type { Clew } from "./api";

/** What a module exports as its default. */
export interface CustomModule {
  name: string;
  title: string;
  hint?: string;
  keys?: readonly Key[];
  /** What it asks that was asked nothing yet; its question is whatever JSON it likes. */
  start?: object;
  describe?: (question: object) => string;
  make: (clew: Clew) => CustomViewInstance;
}

/** What `make` gives. */
export interface CustomViewInstance {
  open?(question: object): Promise<void> | void;
  draw(): unknown;
  unhandle?(): void;
  found?(): { matches: number; all: number };
  select?(selection: { label: string }): void;
  key?(event: KeyboardEvent): boolean;
}
