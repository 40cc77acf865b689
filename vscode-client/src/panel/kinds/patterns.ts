/** "Patterns": what is asked of what a run's threads and tasks do again and again. */
import type { PatternsParams } from "../../shared/protocol";
import { DEFAULT_LEVEL } from "../model/place";
import { question, text, whole } from "../model/question";
import { registerView } from "../views/view";
import { withRun } from "./target";

registerView<PatternsParams>({
  name: "patterns",
  title: "Patterns",
  hint: "What threads and tasks do again and again",
  key: "p",
  keys: [
    { keys: "↑ ↓", what: "go through the rows, or along the diagram's edges" },
    { keys: "Enter", what: "choose the row; of the chosen one, show the source" },
    { keys: "n  N", what: "the next, the previous occurrence; of a search, the next match" },
    { keys: "w  s", what: "a closer, a wider window" },
    { keys: "a  d", what: "an earlier, a later window" },
    { keys: "0", what: "the whole run" },
    { keys: "t", what: "show it on the timeline" },
    { keys: "f  +  −", what: "all of the diagram, closer, farther" },
  ],
  question: question<PatternsParams>(
    {},
    {
      run: text("run"),
      level: text("level", DEFAULT_LEVEL),
      strand: text("strand"),
      calls: whole("calls"),
      times: whole("times"),
      widest: whole("widest"),
      maxPatterns: whole("rows"),
      pattern: text("pattern"),
      fromNs: whole("from"),
      toNs: whole("to"),
      maxStretches: whole("stretches"),
    },
  ),
  levels: "functions",
  describe: ({ strand = "" }) => strand || "all threads and tasks",
  askedRun: (asked) => asked.run ?? "",
  inRun: withRun,
  make: async (context) => new (await import("../views/patterns")).PatternsView(context),
});
