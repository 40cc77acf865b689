/** The manifest of the view “Suspects”: where the requests of a run differ. */
import type { LocalizeParams, LocalizeThresholds } from "../../../shared/protocol";
import { passed, question, text, texts, whole } from "../../app/question";
import type { ViewManifest } from "../contract";
import { ROW_KEYS } from "../commonKeys";
import { describePair } from "../../comparison/title";

export const manifest: ViewManifest<LocalizeParams> = {
  name: "suspects",
  title: "Suspects",
  hint: "Ranked causes of differences between requests",
  key: "s",
  keys: ROW_KEYS,
  question: question<LocalizeParams>(
    { suspect: [] },
    {
      suspect: texts("after"),
      // No reference at all is a choice of its own.
      reference: texts("before", { name: "reference", word: "none" }),
      request: text("request"),
      maxSuspects: whole("rows"),
      thresholds: passed<LocalizeThresholds>(),
    },
  ),
  levels: "none",
  describe: ({ suspect, reference = [] }) => describePair(reference.join(", "), suspect.join(", ")),
  askedRun: (asked) => asked.suspect[0] ?? "",
  make: async (context) => new (await import("./view")).SuspectsView(context),
};
