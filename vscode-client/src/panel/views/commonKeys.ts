/** Help texts for keys that several views share. */
import type { Key } from "./contract";

export const GRAPH_KEYS: readonly Key[] = [
  { keys: "← ↑ → ↓", what: "move along the edges" },
  { keys: "Enter", what: "show the source" },
  { keys: "f", what: "show all" },
  { keys: "+  −", what: "zoom" },
  { keys: "Esc", what: "clear the selection" },
];

/** What views with a table have in common: the keys of its rows. */
export const ROW_KEYS: readonly Key[] = [
  { keys: "↑ ↓", what: "select a row" },
  { keys: "Enter", what: "open the row" },
];
