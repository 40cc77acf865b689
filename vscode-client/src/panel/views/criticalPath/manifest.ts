/** The manifest of the view “Critical path”: the time from the start of a request to an event. */
import "./criticalPath.css";
import type { CriticalPathParams } from "../../../shared/protocol";
import { DEFAULT_LEVEL } from "../../app/place";
import { choice, question, target, text, whole } from "../../app/question";
import type { PathQuestion } from "./question";
import type { ViewManifest } from "../contract";
import { ROW_KEYS } from "../commonKeys";
import { describeTargeted, inRun, type Targeted } from "../targets";

export const manifest: ViewManifest<PathQuestion> = {
  name: "path",
  title: "Critical path",
  hint: "Where the time was spent",
  key: "c",
  keys: [
    ...ROW_KEYS,
    { keys: "+  −", what: "zoom in, zoom out (or the wheel with Ctrl)" },
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
  make: async (context) => new (await import("./view")).CriticalPathView(context),
};

/** The critical path of what a slice was asked about; an event level has none. */
function pathOf({ target: of, run, level }: Targeted): CriticalPathParams {
  return {
    target: of,
    ...(run === undefined ? {} : { run }),
    ...(level === undefined || level === "event" ? {} : { level }),
  };
}
