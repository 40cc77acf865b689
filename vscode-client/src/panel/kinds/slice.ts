/** "Why": what is asked of the slice around an event. */
import type { SliceParams } from "../../shared/protocol";
import { DEFAULT_LEVEL } from "../model/place";
import { choice, flag, question, target, text, whole } from "../model/question";
import { registerView } from "../views/view";
import { GRAPH_KEYS } from "./graph";
import { describeTargeted, inRun } from "./target";

export interface SliceQuestion extends SliceParams {
  /** Is the critical path marked in it? */
  showPath?: boolean;
}

registerView<SliceQuestion>({
  name: "slice",
  title: "Why",
  hint: "What led to a log line, or came of it",
  key: "w",
  keys: [...GRAPH_KEYS, { keys: "p", what: "critical path on or off" }],
  question: question<SliceQuestion>(
    { target: {} },
    {
      run: text("run"),
      level: text("level", DEFAULT_LEVEL),
      target,
      direction: choice("direction", ["backward", "forward"], "backward"),
      maxNodes: whole("nodes"),
      showPath: flag("path", "shown"),
    },
  ),
  levels: "events",
  describe: (asked) => `${asked.direction === "forward" ? "effects of " : ""}${describeTargeted(asked)}`,
  askedRun: (asked) => asked.run ?? "",
  inRun,
  make: async (context) => new (await import("../views/slice")).SliceView(context),
});
