/** Where the built layout comes from, which only the page that shows the panel knows. */
import type { Arranging } from "./entities/arranging";
import type { Layout, LayoutInput } from "./types";

export interface LayoutModule {
  layered: (input: LayoutInput) => Layout;
  Arranging: typeof Arranging;
}

export interface LayoutSource {
  /** The script that a worker is made of. */
  text(): Promise<string>;
  /** The same in the page itself, where no worker may be started. */
  module(): Promise<LayoutModule>;
}

let known: LayoutSource | undefined;

export function setLayoutSource(source: LayoutSource): void {
  known = source;
}

export function layoutSource(): LayoutSource {
  if (!known) throw new Error("the page did not say where the layout is");
  return known;
}

/** A file beside the page's own. */
export function layoutAt(address: string): LayoutSource {
  return {
    async text() {
      const answer = await fetch(address);
      if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
      return answer.text();
    },
    module: () => import(/* @vite-ignore */ address) as ReturnType<LayoutSource["module"]>,
  };
}
