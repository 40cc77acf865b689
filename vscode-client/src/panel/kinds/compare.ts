/** "Requests": what is asked of two runs compared by their requests. */
import type { CompareParams, CompareThresholds } from "../../shared/protocol";
import { FLOW_MODES, type FlowMode } from "../model/flowMode";
import { DEFAULT_LEVEL } from "../model/place";
import { choice, flag, passed, question, text, texts, whole } from "../model/question";
import { registerView } from "../views/view";
import { GRAPH_KEYS, ROW_KEYS } from "./graph";
import { describePair } from "./pair";

export interface CompareQuestion extends CompareParams {
  /** How the flows of the chosen category are compared by eye. */
  mode?: FlowMode;
}

registerView<CompareQuestion>({
  name: "compare",
  title: "Requests",
  hint: "Two runs compared by their requests",
  key: "r",
  keys: [
    ...ROW_KEYS,
    ...GRAPH_KEYS,
    { keys: "m", what: "diff, side by side, animation" },
    { keys: "[  ]", what: "previous and next difference" },
    { keys: "a", what: "anchor the chosen call, or let go" },
    { keys: "s", what: "measure a stretch" },
    { keys: ",  .", what: "a step of the animation" },
    { keys: "x", what: "fold again what was taken apart" },
    { keys: "w", what: "all the room for the picture" },
  ],
  question: question<CompareQuestion>(
    { before: [], after: [] },
    {
      before: texts("before"),
      after: texts("after"),
      level: text("level", DEFAULT_LEVEL),
      request: text("request"),
      coalesce: flag("parts", "alike"),
      category: text("category"),
      precursor: text("beside"),
      maxRows: whole("rows"),
      maxNodes: whole("nodes"),
      thresholds: passed<CompareThresholds>(),
      mode: choice("flows", FLOW_MODES, FLOW_MODES[0]),
    },
  ),
  levels: "functions",
  describe: ({ before, after, request = "" }) =>
    [describePair(before.join(", "), after.join(", ")), request].filter(Boolean).join(", "),
  askedRun: (asked) => asked.after[0] ?? "",
  make: async (context) => new (await import("../views/compare")).CompareView(context),
});
