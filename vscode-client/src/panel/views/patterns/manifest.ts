/** The manifest of the view “Patterns”: repeated call sequences of threads and tasks. */
import "./patterns.css";
import type { PatternsParams } from "../../../shared/protocol";
import { DEFAULT_LEVEL } from "../../app/place";
import { question, text, whole } from "../../app/question";
import type { ViewManifest } from "../contract";
import { withRun } from "../targets";

export const manifest: ViewManifest<PatternsParams> = {
  name: "patterns",
  title: "Patterns",
  hint: "Repeated call sequences of threads and tasks",
  key: "p",
  keys: [
    { keys: "↑ ↓", what: "select a row, or follow the edges of the diagram" },
    { keys: "Enter", what: "open the row; in the open row, show the source" },
    { keys: "n  N", what: "next, previous occurrence; during a search, next match" },
    { keys: "w  s", what: "a narrower, a wider window" },
    { keys: "a  d", what: "an earlier, a later window" },
    { keys: "0", what: "the whole run" },
    { keys: "t", what: "show on the timeline" },
    { keys: "f  +  −", what: "show the whole diagram, zoom in, zoom out" },
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
  make: async (context) => new (await import("./view")).PatternsView(context),
};
