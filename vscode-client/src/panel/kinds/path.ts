/** "Critical path": what is asked of the time from a request's start to an event. */
import type { CriticalPathParams } from "../../shared/protocol";
import { DEFAULT_LEVEL } from "../model/place";
import { question, target, text, whole } from "../model/question";
import { registerView } from "../views/view";
import { ROW_KEYS } from "./graph";
import { describeTargeted, inRun, type Targeted } from "./target";

registerView<CriticalPathParams>({
  name: "path",
  title: "Critical path",
  hint: "Where the time went",
  key: "c",
  keys: ROW_KEYS,
  question: question<CriticalPathParams>(
    { target: {} },
    { run: text("run"), level: text("level", DEFAULT_LEVEL), target, maxSegments: whole("rows") },
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
