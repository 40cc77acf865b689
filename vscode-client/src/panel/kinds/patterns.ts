/** "Patterns": what is asked of what a run's threads and tasks do again and again. */
import type { PatternsParams } from "../../shared/protocol";
import { DEFAULT_LEVEL } from "../model/place";
import { question, text, whole } from "../model/question";
import { registerView } from "../views/view";
import { ROW_KEYS } from "./graph";
import { withRun } from "./target";

registerView<PatternsParams>({
  name: "patterns",
  title: "Patterns",
  hint: "What threads and tasks do again and again",
  key: "p",
  keys: ROW_KEYS,
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
