/** "Requests": what is asked of two runs compared by their requests. */
import type { CompareParams, CompareThresholds } from "../../shared/protocol";
import { DEFAULT_LEVEL } from "../model/place";
import { flag, passed, question, text, texts, whole } from "../model/question";
import { registerView } from "../views/view";
import { GRAPH_KEYS, ROW_KEYS } from "./graph";
import { describePair } from "./pair";

registerView<CompareParams>({
  name: "compare",
  title: "Requests",
  hint: "Two runs compared by their requests",
  key: "r",
  keys: [...ROW_KEYS, ...GRAPH_KEYS],
  question: question<CompareParams>(
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
    },
  ),
  levels: "functions",
  describe: ({ before, after, request = "" }) =>
    [describePair(before.join(", "), after.join(", ")), request].filter(Boolean).join(", "),
  askedRun: (asked) => asked.after[0] ?? "",
  make: async (context) => new (await import("../views/compare")).CompareView(context),
});
