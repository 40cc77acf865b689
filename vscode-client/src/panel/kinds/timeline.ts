/** "Timeline": what is asked of what a run's threads and tasks did when. */
import type { TimelineParams } from "../../shared/protocol";
import { question, text, whole } from "../model/question";
import { registerView } from "../views/view";
import { withRun } from "./target";

registerView<TimelineParams>({
  name: "timeline",
  title: "Timeline",
  hint: "What threads and tasks did when",
  key: "t",
  keys: [
    { keys: "w  s", what: "closer, farther" },
    { keys: "a  d", what: "earlier, later" },
    { keys: "← →", what: "the call before, after" },
    { keys: "↑ ↓", what: "the caller, the first call that it makes; from strand to strand" },
    { keys: "Enter", what: "show the source" },
    { keys: "f", what: "zoom to what is selected" },
    { keys: "0", what: "show all" },
    { keys: "Shift drag", what: "measure a stretch" },
    { keys: "Esc", what: "select nothing" },
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
  make: async (context) => new (await import("../views/timeline")).TimelineView(context),
});
