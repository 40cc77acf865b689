/** The manifest of the view “Walk”: the start of a walk. */
import { standing } from "../../../shared/walk";
import { choice, question, target, text } from "../../app/question";
import type { WalkQuestion } from "./question";
import type { ViewManifest } from "../contract";
import { describeTargeted, inRun } from "../targets";

export const manifest: ViewManifest<WalkQuestion> = {
  name: "walk",
  title: "Walk",
  hint: "Step from event to event: causes, effects, neighbours",
  key: "e",
  keys: [
    { keys: "←  →", what: "to the cause, the effect" },
    { keys: "↑  ↓", what: "to the previous, next event of the thread or task" },
    { keys: "o  i", what: "out of, into the call or scope" },
    { keys: "2 … 9", what: "choose another cause; Shift: another effect" },
    { keys: "Backspace", what: "back in the walk (Shift: forward)" },
    { keys: "f  +  −", what: "show all, zoom in, zoom out" },
    { keys: "Enter", what: "show the source" },
  ],
  question: question<WalkQuestion>(
    { target: {} },
    { target, run: text("run"), pick: choice("pick", ["last", "first", "slowest", "failed"]) },
  ),
  levels: "none",
  describe: describeTargeted,
  askedRun: (asked) => asked.run ?? "",
  inRun,
  following: (from, asked, walk) => {
    if (walk) return { target: { event: standing(walk) }, run: walk.result.run.id };
    const { target: before, run } = asked as WalkQuestion;
    return from === "slice" || from === "path" ? { target: before, ...(run ? { run } : {}) } : undefined;
  },
  make: async (context) => new (await import("./view")).WalkView(context),
};
