/** A suspect in words: its row, the evidence with links to it, and the criteria for unusual requests. */
import { html, nothing, type TemplateResult } from "lit";
import type { LocalizeEvidence, LocalizeResult, Location } from "../../../shared/protocol";
import { arrows, count, thousands } from "../../ui/text/format";
import { probability } from "../../ui/text/probability";
import { bits, evidenceNumbers, evidenceWord, placeName, samples, type SuspectLine } from "./model";
import { intervalQuestion } from "../timeline/link";
import { brokenName } from "../../ui/text/nameBreaks";
import { bar, linkButton, placeLink } from "../../ui/parts";
import { rowKeys } from "../../ui/rows";

export interface SuspectActions {
  readonly workspace: string;
  /** By its rank. */
  choose(rank: number): void;
  reveal(location: Location | null): void;
  /** To another view. */
  go(view: string, question: object): void;
}

export function suspectRow(line: SuspectLine, isChosen: boolean, act: SuspectActions): TemplateResult {
  const { suspect } = line;
  const keys = rowKeys(() => {
    act.choose(suspect.rank);
    act.reveal(suspect.location);
  });
  return html`<tr
    class=${isChosen ? "selected" : ""}
    tabindex="-1"
    aria-current=${isChosen ? "true" : "false"}
    aria-label=${`${suspect.rank}: ${suspect.sentence}, ${line.score}`}
    title=${suspect.sentence}
    @click=${keys.click}
    @keydown=${keys.keydown}
  >
    <td class="number">${suspect.rank}</td>
    <th scope="row">
      <span class="name">${brokenName(line.title)}</span>
      <span class="where">${line.where}</span>
    </th>
    <td>
      <span class="bar-line"><svg aria-hidden="true">${bar("after", line.share)}</svg><span>${line.score}</span></span>
      <span class="where">${line.word}</span>
    </td>
    <td class="number">
      <span class="figures">${line.numbers}</span> ${line.sure ? html`<small>${line.sure}</small>` : nothing}
    </td>
  </tr>`;
}

/** All that speaks for a suspect. */
export function suspectSide({ suspect, score }: SuspectLine, act: SuspectActions): TemplateResult {
  return html`<aside class="side">
    <div class="reading">
      <section>
        <h3>${suspect.rank}. ${placeName(suspect)}</h3>
        <p class="numbers">${score} in total, from this evidence:</p>
        ${placeLink(suspect.location, act.workspace, (location) => {
          act.reveal(location);
        })}
      </section>
      ${suspect.evidence.map((piece) => drawEvidence(piece, act))}
    </div>
  </aside>`;
}

function drawEvidence(piece: LocalizeEvidence, act: SuspectActions): TemplateResult {
  const { event, run, fromNs, toNs } = piece;
  return html`<section class="evidence">
    <p>${arrows(piece.sentence)}</p>
    <p class="numbers">
      ${[evidenceWord(piece), evidenceNumbers(piece), samples(piece), probability(piece.p), bits(piece.bits)]
        .filter(Boolean)
        .join(" · ")}
    </p>
    ${placeLink(piece.location, act.workspace, (location) => {
      act.reveal(location);
    })}
    ${
      event === null
        ? nothing
        : linkButton("show the causes of an example", () => {
            act.go("slice", { target: { event }, run });
          })
    }
    ${
      fromNs === null || toNs === null
        ? nothing
        : linkButton("show on the timeline", () => {
            act.go("timeline", intervalQuestion(run, fromNs, toNs));
          })
    }
  </section>`;
}

/** Without a reference: the criteria that separate unusual requests. */
export function drawClusters({ clusters, hiddenClusters }: LocalizeResult): TemplateResult | typeof nothing {
  if (clusters.length === 0) return nothing;
  return html`<details class="pad">
    <summary class="muted">
      How unusual requests were identified: ${count(clusters.length + hiddenClusters, "group")} of one flow
    </summary>
    <ul class="facts">
      ${clusters.map(
        (one) =>
          html`<li>
            ${count(one.requests, "request")} of ${count(one.calls, "call")}: ${thousands(one.anomalous)} unusual
            <small
              >(${[one.method, one.why, one.merged > 0 ? `${thousands(one.merged)} merged` : ""].filter(Boolean).join("; ")})</small
            >
          </li>`,
      )}
      ${hiddenClusters > 0 ? html`<li class="muted">and ${count(hiddenClusters, "smaller one")}</li>` : nothing}
    </ul>
  </details>`;
}
