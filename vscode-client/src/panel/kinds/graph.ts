/** What views with a graph have in common: its keys. */
import type { Key } from "../views/view";

export const GRAPH_KEYS: readonly Key[] = [
  { keys: "← ↑ → ↓", what: "move along the edges" },
  { keys: "Enter", what: "show the source" },
  { keys: "f", what: "show all" },
  { keys: "+  −", what: "zoom" },
  { keys: "Esc", what: "select nothing" },
];

/** What views with a table have in common: the keys of its rows. */
export const ROW_KEYS: readonly Key[] = [
  { keys: "↑ ↓", what: "go through the rows" },
  { keys: "Enter", what: "choose the row" },
];
