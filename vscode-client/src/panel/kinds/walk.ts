/** "Walk": where a walk through a run begins. */
import type { WalkParams } from "../../shared/protocol";
import { choice, question, target, text } from "../model/question";
import { registerView } from "../views/view";
import { describeTargeted, inRun } from "./target";

export type WalkQuestion = Pick<WalkParams, "target" | "run" | "pick">;

registerView<WalkQuestion>({
  name: "walk",
  title: "Walk",
  hint: "From event to event: causes, effects, what is around",
  key: "e",
  keys: [
    { keys: "←  →", what: "to the cause, to the effect" },
    { keys: "↑  ↓", what: "to the event before and after in its thread or task" },
    { keys: "o  i", what: "out of the call or scope, and in" },
    { keys: "2 … 9", what: "another of several causes, or effects with Shift" },
    { keys: "Backspace", what: "back in the walk (Shift: forward)" },
    { keys: "f  +  −", what: "show all, closer, farther" },
    { keys: "Enter", what: "the source" },
  ],
  question: question<WalkQuestion>(
    { target: {} },
    { target, run: text("run"), pick: choice("pick", ["last", "first", "slowest", "failed"]) },
  ),
  levels: "none",
  describe: describeTargeted,
  askedRun: (asked) => asked.run ?? "",
  inRun,
  following: (from, asked) => {
    const { target: before, run } = asked as WalkQuestion;
    return from === "slice" || from === "path" ? { target: before, ...(run ? { run } : {}) } : undefined;
  },
  make: async (context) => new (await import("../views/walk")).WalkView(context),
});
