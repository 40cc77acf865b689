/** "Critical path": what is asked of the time from a request's start to an event. */
import type { CriticalPathParams } from "../../shared/protocol";
import { DEFAULT_LEVEL } from "../model/place";
import { choice, question, target, text, whole } from "../model/question";
import { registerView } from "../views/view";
import { ROW_KEYS } from "./graph";
import { describeTargeted, inRun, type Targeted } from "./target";

export interface PathQuestion extends CriticalPathParams {
  /** Its segments in order, its labels, or what is beside it. */
  shown?: "order" | "label" | "beside";
}

registerView<PathQuestion>({
  name: "path",
  title: "Critical path",
  hint: "Where the time went",
  key: "c",
  keys: [
    ...ROW_KEYS,
    { keys: "+  −", what: "closer, farther over time (or the wheel with Ctrl)" },
    { keys: "a  d", what: "earlier, later" },
    { keys: "f", what: "show all" },
  ],
  question: question<PathQuestion>(
    { target: {} },
    {
      run: text("run"),
      level: text("level", DEFAULT_LEVEL),
      target,
      maxSegments: whole("rows"),
      shown: choice("list", ["order", "label", "beside"], "order"),
    },
  ),
  levels: "functions",
  describe: describeTargeted,
  askedRun: (asked) => asked.run ?? "",
  inRun,
  following: (from, asked) => (from === "slice" ? pathOf(asked as Targeted) : undefined),
  make: async (context) => new (await import("../views/criticalPath")).CriticalPathView(context),
});

/** The critical path of what a slice was asked about; an event level has none. */
function pathOf({ target: of, run, level }: Targeted): CriticalPathParams {
  return {
    target: of,
    ...(run === undefined ? {} : { run }),
    ...(level === undefined || level === "event" ? {} : { level }),
  };
}
