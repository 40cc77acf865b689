/** The whole page: the header, what the user should know, the view that is shown, and what lies over or below it. */
import { html, nothing, type TemplateResult } from "lit";
import "@vscode-elements/elements/dist/vscode-progress-bar/index.js";
import { askedOf } from "../model/place";
import type { Shared } from "../store";
import type { Walker } from "../walker";
import { drawHeader, type HeaderActions } from "./header";
import { helpDialog } from "./help";
import { asking, notice } from "./parts";
import { gapPattern } from "./shapes";
import { sourceDrawer } from "./source";
import { walkBar } from "./walkBar";

export interface PageActions extends HeaderActions {
  readonly state: Readonly<Shared>;
  readonly walker: Walker;
  stop(): void;
  tryAgain(): void;
  dismiss(note: string): void;
  closeSource(): void;
}

export function drawPage(act: PageActions): TemplateResult {
  const { busy, error, source, helpShown, workspace, walk } = act.state;
  const { view, kind } = act;
  return html`
    <svg class="definitions" aria-hidden="true"><defs>${gapPattern()}</defs></svg>
    ${drawHeader(act.state, act)}
    <div class="progress" aria-hidden=${busy > 0 ? "false" : "true"}>
      ${busy > 0 ? html`<vscode-progress-bar indeterminate aria-label="Asking the server"></vscode-progress-bar>` : nothing}
    </div>
    <p class="unseen" role="status">${answered(act)}</p>
    ${notices(act)}
    ${
      walk
        ? walkBar(walk, act.walker, kind?.name === "walk", () => {
            act.showView("walk");
          })
        : nothing
    }
    <main id="view" aria-busy=${busy > 0 ? "true" : "false"} aria-label=${kind?.title ?? nothing}>
      ${view ? view.draw() : error ? nothing : asking("Loading …")}
    </main>
    ${
      source
        ? sourceDrawer(source.answer, source.line, workspace, () => {
            act.closeSource();
          })
        : nothing
    }
    ${
      helpShown
        ? helpDialog(kind, act.kinds, () => {
            act.showHelp(false);
          })
        : nothing
    }
  `;
}

/** Who doesn't see the page hears what it shows now, once the answer is there. */
function answered({ state, kind, view }: PageActions): string {
  if (!kind || !view || state.busy > 0 || state.error) return "";
  return `${kind.title}: ${kind.describe(askedOf(state.place, kind))}`;
}

function notices(act: PageActions): TemplateResult {
  const { slow, notes, error } = act.state;
  return html`${
    slow
      ? notice("info", "Asking the server …", {
          name: "Stop",
          run: () => {
            act.stop();
          },
        })
      : nothing
  }
  ${notes.map((note) =>
    notice("info", note, {
      name: "Dismiss",
      run: () => {
        act.dismiss(note);
      },
    }),
  )}
  ${
    error
      ? notice("error", error, {
          name: "Try again",
          run: () => {
            act.tryAgain();
          },
        })
      : nothing
  }`;
}
