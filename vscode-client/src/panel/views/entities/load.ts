/** Loads the first answers of the view: whether the run is live, its entities, and all lines between them. */
import type { EntitiesResult, EntityLine } from "../../../shared/protocol";
import { isRun } from "../../ui/runs";
import type { EntitiesQuestion } from "./question";
import { LiveEntities, RecordedEntities } from "./model/source";
import type { Context } from "../contract";

export interface LoadedEntities {
  source: RecordedEntities;
  live: boolean;
  result: EntitiesResult;
  /** Of the whole run, so that a picture stays as it is while it is played. */
  lines: readonly EntityLine[];
  /** Is it the run that was live when it was opened before? */
  ended: boolean;
}

/** `before` is what was shown last, `ns` its time, and whether that was the newest moment. */
export async function loadEntities(
  context: Context<EntitiesQuestion>,
  question: EntitiesQuestion,
  before: { live: boolean; run: string | undefined; ns: number; isNewest: boolean },
): Promise<LoadedEntities> {
  const { store } = context;
  const of = question.run ?? store.state.selectedRun;
  const run = store.state.runs.find((one) => isRun(one, of));
  // A run of another workspace is in no list.
  const listed = run ?? (of ? (await new RecordedEntities(context, question).state("end")).run : undefined);
  const live = listed?.finished === false;
  const source = new (live ? LiveEntities : RecordedEntities)(context, question);
  const { moment, ns } = question;
  // Once a program has ended, the same time is shown: its moments and entities may have other numbers now. Who saw the newest
  // moment sees who was there before the program took everything down.
  const ended = before.live && !live && before.run !== undefined && before.run === listed?.id;
  const result = await source.state(
    ended
      ? before.isNewest
        ? "beforeEnd"
        : { ns: before.ns }
      : moment !== undefined
        ? { moment }
        : ns !== undefined
          ? { ns }
          : live
            ? "end"
            : "fullest",
  );
  const ways =
    result.moments > 0
      ? await Promise.all([0, result.moments].map((from) => source.way(from, { moment: result.moment })))
      : [];
  return { source, live, result, lines: ways.flatMap(({ lines }) => lines), ended };
}
