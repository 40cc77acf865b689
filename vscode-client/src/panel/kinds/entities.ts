/** "Entities": what is asked of who is where in a run, and who talks to whom, at a moment. */
import { offset } from "../model/format";
import { choice, question, text, whole } from "../model/question";
import { registerView } from "../views/view";
import { withRun } from "./target";

export interface EntitiesQuestion {
  run?: string;
  source?: "" | "spec" | "strands";
  /** Undefined for what `ns` says. */
  moment?: number;
  /** What happened by then, since the run's start; undefined for where most are there. */
  ns?: number;
  inside?: number;
  most?: number;
  /** A drawing: `auto`, or one by its name. */
  layout?: string;
}

registerView<EntitiesQuestion>({
  name: "entities",
  title: "Entities",
  hint: "Who is where, and talks to whom, as it happened",
  key: "i",
  keys: [
    { keys: "Space", what: "play, pause; with Shift backward" },
    { keys: "← →", what: "an event back, forward; with Shift a hundred" },
    { keys: "Home End", what: "the beginning, the end" },
    { keys: "< >", what: "slower, faster" },
    { keys: "↑ ↓", what: "from entity to entity" },
    { keys: "Enter", what: "into the container; of others, to their code" },
    { keys: "Backspace", what: "out of the container" },
    { keys: "l", what: "the next layout" },
    { keys: "f  +  −", what: "show all, closer, farther" },
    { keys: "Esc", what: "select nothing" },
  ],
  question: question<EntitiesQuestion>(
    {},
    {
      run: text("run"),
      source: choice("of", ["", "spec", "strands"], ""),
      moment: whole("moment"),
      ns: whole("at"),
      inside: whole("inside"),
      most: whole("most"),
      layout: text("layout", "auto"),
    },
  ),
  levels: "none",
  watches: true,
  describe: ({ inside, source = "", moment, ns }) => {
    const what =
      inside === undefined ? (source === "strands" ? "threads and tasks" : "of the whole run") : "in a container";
    return ns === undefined || moment !== undefined ? what : `${what} at ${offset(ns)}`;
  },
  askedRun: (asked) => asked.run ?? "",
  // Entities and moments mean others in another run.
  inRun: ({ layout, source }, run) =>
    withRun<EntitiesQuestion>({ ...(layout ? { layout } : {}), ...(source ? { source } : {}) }, run),
  make: async (context) => new (await import("../views/entities")).EntitiesView(context),
});
