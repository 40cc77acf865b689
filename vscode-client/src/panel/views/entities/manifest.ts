/** The manifest of the view “Entities”: entities, their containers and their messages at a moment of a run. */
import "./entities.css";
import { offset } from "../../ui/text/format";
import { choice, question, text, whole } from "../../app/question";
import type { EntitiesQuestion } from "./question";
import type { ViewManifest } from "../contract";
import { withRun } from "../targets";

export const manifest: ViewManifest<EntitiesQuestion> = {
  name: "entities",
  title: "Entities",
  hint: "Entities, their containers and their messages over time",
  key: "i",
  keys: [
    { keys: "Space", what: "play, pause; Shift: backward" },
    { keys: "← →", what: "one event back, forward; Shift: 100 events" },
    { keys: "Home End", what: "start, end" },
    { keys: "< >", what: "slower, faster" },
    { keys: "↑ ↓", what: "go from entity to entity" },
    { keys: "Enter", what: "enter the container; for other entities, show the code" },
    { keys: "Backspace", what: "leave the container" },
    { keys: "l", what: "next layout" },
    { keys: "f  +  −", what: "show all, zoom in, zoom out" },
    { keys: "Esc", what: "clear the selection" },
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
      inside === undefined ? (source === "strands" ? "threads and tasks" : "the whole run") : "in a container";
    return ns === undefined || moment !== undefined ? what : `${what} at ${offset(ns)}`;
  },
  askedRun: (asked) => asked.run ?? "",
  // Entities and moments mean others in another run.
  inRun: ({ layout, source }, run) =>
    withRun<EntitiesQuestion>({ ...(layout ? { layout } : {}), ...(source ? { source } : {}) }, run),
  make: async (context) => new (await import("./view")).EntitiesView(context),
};
