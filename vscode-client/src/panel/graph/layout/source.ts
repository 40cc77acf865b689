/** The source of the built layout code, which only the page of the panel knows. */
import type { LayoutRequests } from "../../views/entities/layouts/requests";
import type { Layout, LayoutInput } from "./types";

export interface LayoutModule {
  layered: (input: LayoutInput) => Layout;
  LayoutRequests: typeof LayoutRequests;
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
  if (!known) throw new Error("the page has no address for the layout");
  return known;
}

/** A file in the folder of the page. */
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
