/** The manifest of the view “Why”: the slice of an event. */
import { DEFAULT_LEVEL } from "../../app/place";
import { choice, flag, question, target, text, whole } from "../../app/question";
import type { SliceQuestion } from "./question";
import type { ViewManifest } from "../contract";
import { GRAPH_KEYS } from "../commonKeys";
import { describeTargeted, inRun } from "../targets";

export const manifest: ViewManifest<SliceQuestion> = {
  name: "slice",
  title: "Why",
  hint: "Causes or effects of a log line",
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
  make: async (context) => new (await import("./view")).SliceView(context),
};
