/**
 * Suspects for the differences between requests, in one ranked list, each with its evidence.
 *
 * Invariant: every piece of evidence shows its numbers, its samples and its significance.
 */
import { html, nothing, type TemplateResult } from "lit";
import { Newest } from "../../../shared/newest";
import type { LocalizeParams, LocalizeResult } from "../../../shared/protocol";
import { loading, emptyState, notice, RECORD_COMMAND } from "../../ui/parts";
import { oneStop } from "../../ui/rows";
import { runOptions } from "../../ui/runs";
import { drawClusters, type SuspectActions, suspectRow, suspectSide } from "./details";
import { arrows, count } from "../../ui/text/format";
import { neighbourOf } from "../../ui/listNavigation";
import { completePair } from "../../comparison/runPair";
import { filterSuspects, suspectLines } from "./model";
import type { Context, View } from "../contract";
import type { SelectedEvent, Selection } from "../selection";

const MORE_SUSPECTS = 50;

interface Answer {
  params: LocalizeParams;
  result: LocalizeResult;
}

export class SuspectsView implements View<LocalizeParams, Answer> {
  private answer: Answer | undefined;
  private readonly newest = new Newest();
  /** Rank of the selected one. */
  private selected = 1;

  constructor(private readonly context: Context<LocalizeParams>) {}

  async open(asking: LocalizeParams): Promise<void> {
    const isNewest = this.newest.begin();
    const params = this.complete(asking);
    if (!params.suspect[0]) return;
    const result = await this.context.request("clew/localize", params);
    if (isNewest()) this.handle({ params, result });
  }

  handle(answer: Answer): void {
    this.answer = answer;
    this.selected = 1;
    this.context.store.changed();
  }

  unhandle(): void {
    this.answer = undefined;
    this.newest.forget();
    this.context.store.changed();
  }

  select({ label }: Selection): void {
    const found = this.answer?.result.suspects.find((one) => one.method === label);
    if (found) this.choose(found.rank);
  }

  focus(): void {
    document.querySelector<HTMLElement>(".suspect-rows tbody tr")?.focus();
  }

  shownRun(): string | undefined {
    return this.answer?.result.suspect[0]?.id;
  }

  event(): SelectedEvent | undefined {
    const chosen = this.answer?.result.suspects.find((one) => one.rank === this.selected);
    const examples = chosen?.evidence.flatMap(({ event, run }) => (event === null ? [] : [{ event, run }]));
    return examples?.[0];
  }

  found(): { matches: number; all: number } {
    const all = this.answer?.result.suspects ?? [];
    return { matches: filterSuspects(all, this.context.store.state.place.search).length, all: all.length };
  }

  nextMatch(by: 1 | -1): void {
    const all = this.answer?.result.suspects ?? [];
    const matches = filterSuspects(all, this.context.store.state.place.search).map(({ rank }) => rank);
    const next = neighbourOf(matches, this.selected, by);
    if (next !== undefined) this.choose(next);
  }

  draw(): TemplateResult {
    const { runs, runsKnown, busy } = this.context.store.state;
    if (runsKnown && runs.length === 0) {
      return html`<div class="view">
        ${emptyState(
          "No run yet",
          "Record your program in a terminal, with a spec that marks requests:",
          RECORD_COMMAND.replace("run", "run --spec app.esl"),
        )}
      </div>`;
    }
    const answer = this.answer;
    return html`<div class="view suspects">
      ${answer ? this.drawAnswer(answer) : busy > 0 ? loading("Finding suspects …") : nothing}
    </div>`;
  }

  controls(): TemplateResult | typeof nothing {
    const { runs } = this.context.store.state;
    if (runs.length === 0) return nothing;
    const params = this.answer?.params ?? this.complete(this.context.question);
    const reference = params.reference?.[0] ?? "";
    return html`<div class="diff-pickers">
      <label class="picker before">
        <span class="mark" aria-hidden="true">−</span>
        <span class="word">Reference</span>
        <select
          aria-label="The run to compare with"
          @change=${(event: Event) => {
            const chosen = (event.target as HTMLSelectElement).value;
            this.context.ask({ ...params, reference: chosen ? [chosen] : [] });
          }}
        >
          <option value="" .selected=${reference === ""}>none: unusual requests of the run itself</option>
          ${runOptions(runs, reference)}
        </select>
      </label>
      <label class="picker after">
        <span class="mark" aria-hidden="true">+</span>
        <span class="word">Suspect</span>
        <select
          aria-label="The suspect run"
          @change=${(event: Event) => {
            this.context.ask({ ...params, suspect: [(event.target as HTMLSelectElement).value] });
          }}
        >
          ${runOptions(runs, params.suspect[0] ?? "")}
        </select>
      </label>
    </div>`;
  }

  private drawAnswer({ result, params }: Answer): TemplateResult {
    const { place, workspace } = this.context.store.state;
    if (result.suspects.length === 0) {
      const nothingDiffers = result.requestsSuspect > 0 ? result.sentence : "";
      return html`${emptyState("No suspects", result.message || arrows(nothingDiffers))} ${drawClusters(result)}`;
    }
    const lines = suspectLines(result.suspects);
    const shown = new Set(filterSuspects(result.suspects, place.search).map((one) => one.rank));
    const rows = lines.filter((line) => shown.has(line.suspect.rank));
    const chosen = rows.find((line) => line.suspect.rank === this.selected) ?? rows[0];
    const act: SuspectActions = {
      workspace,
      choose: (rank) => {
        this.choose(rank);
      },
      reveal: (location) => {
        this.context.reveal(location);
      },
      go: (view, question) => {
        this.context.go(view, question);
      },
    };
    return html`<div class="view with-side">
      <div class="main scrolling-part">
        <section class="summary pad">
          <h2 class="sentence">${arrows(result.sentence)}</h2>
          <p class="numbers">
            ${count(result.requestsSuspect, "request")} beside ${count(result.requestsReference, "request")}
            ${result.reference.length ? "of the reference" : "that are not unusual"}
          </p>
          ${result.message ? notice("info", result.message) : nothing}
          <details>
            <summary>How are suspects ranked?</summary>
            <p class="numbers">${result.explanation}</p>
          </details>
        </section>
        <table class="diff-rows suspect-rows">
          <colgroup>
            <col class="rank" />
            <col class="name" />
            <col class="score" />
            <col class="numbers" />
          </colgroup>
          <thead>
            <tr>
              <th scope="col" class="number">#</th>
              <th scope="col">Suspect</th>
              <th scope="col" title="Bits: doublings of time, and how unexpected the behaviour is">Evidence (bits)</th>
              <th scope="col" class="number">Before → after</th>
            </tr>
          </thead>
          <tbody ${oneStop()}>
            ${rows.map((line) => suspectRow(line, line === chosen, act))}
          </tbody>
        </table>
        ${rows.length === 0 ? html`<p class="muted pad">No matches.</p>` : nothing}
        ${
          result.hiddenSuspects > 0
            ? notice("info", `${count(result.hiddenSuspects, "more suspect")} with less evidence.`, {
                name: "Show more",
                run: () => {
                  const maxSuspects = result.suspects.length + MORE_SUSPECTS;
                  this.context.ask({ ...params, maxSuspects });
                },
              })
            : nothing
        }
        ${drawClusters(result)}
      </div>
      ${chosen ? suspectSide(chosen, act) : nothing}
    </div>`;
  }

  /** Where runs are not named: the two newest; an empty list of references was chosen. */
  private complete(asked: LocalizeParams): LocalizeParams {
    const { runs, baseline } = this.context.store.state;
    const pair = completePair(runs, baseline, { before: asked.reference?.[0] ?? "", after: asked.suspect[0] ?? "" });
    return {
      ...asked,
      suspect: asked.suspect[0] ? asked.suspect : [pair.after].filter(Boolean),
      reference: asked.reference ?? [pair.before].filter(Boolean),
    };
  }

  private choose(rank: number): void {
    this.selected = rank;
    this.context.store.changed();
  }
}
