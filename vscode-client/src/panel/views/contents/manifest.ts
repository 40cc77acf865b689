/** The manifest of “Contents”, the first view of a report, which lists its answers. */
import type { ReportData } from "../../report/answers";
import { question } from "../../app/question";
import type { ViewManifest } from "../contract";

export function contentsOf(data: ReportData): ViewManifest {
  return {
    name: "contents",
    title: "Contents",
    hint: "Contents of this report",
    key: "o",
    keys: [],
    question: question<object>({}, {}),
    levels: "none",
    describe: () => "the report",
    askedRun: () => "",
    make: async (context) => new (await import("./view")).ContentsView(context, data),
  };
}
