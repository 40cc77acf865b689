/** The manifest of the view “Requests”: two runs compared by their requests. */
import "./flow/flow.css";
import "./flow/toolbar.css";
import type { CompareThresholds } from "../../../shared/protocol";
import { FLOW_MODES } from "./flow/model/mode";
import { DEFAULT_LEVEL } from "../../app/place";
import { choice, flag, passed, question, text, texts, whole } from "../../app/question";
import type { RequestsQuestion } from "./question";
import type { ViewManifest } from "../contract";
import { GRAPH_KEYS, ROW_KEYS } from "../commonKeys";
import { describePair } from "../../comparison/title";

export const manifest: ViewManifest<RequestsQuestion> = {
  name: "compare",
  title: "Requests",
  hint: "Two runs compared by their requests",
  key: "r",
  keys: [
    ...ROW_KEYS,
    ...GRAPH_KEYS,
    { keys: "m", what: "diff, side by side, animation" },
    { keys: "[  ]", what: "previous, next difference" },
    { keys: "a", what: "anchor the selected call, or release it" },
    { keys: "s", what: "measure an interval" },
    { keys: ",  .", what: "one step of the animation" },
    { keys: "x", what: "fold the opened groups" },
    { keys: "w", what: "maximise the picture" },
  ],
  question: question<RequestsQuestion>(
    { before: [], after: [] },
    {
      before: texts("before"),
      after: texts("after"),
      level: text("level", DEFAULT_LEVEL),
      request: text("request"),
      coalesce: flag("parts", "alike"),
      anyOrder: flag("order", "any"),
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
  make: async (context) => new (await import("./view")).RequestsView(context),
};
