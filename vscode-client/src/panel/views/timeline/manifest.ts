/** The manifest of the view “Timeline”: calls of threads and tasks over time. */
import "./timeline.css";
import type { TimelineParams } from "../../../shared/protocol";
import { question, text, whole } from "../../app/question";
import type { ViewManifest } from "../contract";
import { withRun } from "../targets";

export const manifest: ViewManifest<TimelineParams> = {
  name: "timeline",
  title: "Timeline",
  hint: "Calls of threads and tasks over time",
  key: "t",
  keys: [
    { keys: "w  s", what: "zoom in, zoom out" },
    { keys: "a  d", what: "earlier, later" },
    { keys: "← →", what: "previous, next call" },
    { keys: "↑ ↓", what: "caller, first callee; or the next thread or task" },
    { keys: "Enter", what: "show the source" },
    { keys: "f", what: "zoom to the selection" },
    { keys: "0", what: "show all" },
    { keys: "Shift drag", what: "measure an interval" },
    { keys: "Esc", what: "clear the selection" },
  ],
  question: question<TimelineParams>(
    {},
    {
      run: text("run"),
      strand: text("strand"),
      fromNs: whole("from"),
      toNs: whole("to"),
      maxStrands: whole("strands"),
    },
  ),
  levels: "none",
  describe: ({ strand = "" }) => strand || "all threads and tasks",
  askedRun: (asked) => asked.run ?? "",
  // A time means another one in another run.
  inRun: ({ strand }, run) => withRun<TimelineParams>(strand ? { strand } : {}, run),
  make: async (context) => new (await import("./view")).TimelineView(context),
};
