/** The page: the header, notices, the current view, and overlays. */
import { html, nothing, type TemplateResult } from "lit";
import "@vscode-elements/elements/dist/vscode-progress-bar/index.js";
import { askedOf } from "../place";
import type { SharedState } from "../store";
import type { Walker } from "../walker";
import { drawHeader, type HeaderActions } from "./header";
import { helpDialog } from "./help";
import { loading, notice } from "../../ui/parts";
import { gapPattern } from "../../graph/shapes";
import { sourceDrawer } from "./sourceDrawer";
import { walkBar } from "./walkBar";

export interface PageActions extends HeaderActions {
  readonly state: Readonly<SharedState>;
  readonly walker: Walker;
  stop(): void;
  tryAgain(): void;
  dismiss(note: string): void;
  closeSource(): void;
}

export function drawPage(act: PageActions): TemplateResult {
  const { busy, error, source, helpShown, workspace, walk } = act.state;
  const { view, manifest } = act;
  return html`
    <svg class="definitions" aria-hidden="true"><defs>${gapPattern()}</defs></svg>
    ${drawHeader(act.state, act)}
    <div class="progress" aria-hidden=${busy > 0 ? "false" : "true"}>
      ${busy > 0 ? html`<vscode-progress-bar indeterminate aria-label="Waiting for the server"></vscode-progress-bar>` : nothing}
    </div>
    <p class="unseen" role="status">${answered(act)}</p>
    ${notices(act)}
    ${
      walk
        ? walkBar(walk, act.walker, manifest?.name === "walk", () => {
            act.showView("walk");
          })
        : nothing
    }
    <main id="view" aria-busy=${busy > 0 ? "true" : "false"} aria-label=${manifest?.title ?? nothing}>
      ${view ? view.draw() : error ? nothing : loading("Loading …")}
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
        ? helpDialog(manifest, act.manifests, () => {
            act.showHelp(false);
          })
        : nothing
    }
  `;
}

/** Who doesn't see the page hears what it shows now, once the answer is there. */
function answered({ state, manifest, view }: PageActions): string {
  if (!manifest || !view || state.busy > 0 || state.error) return "";
  return `${manifest.title}: ${manifest.describe(askedOf(state.place, manifest))}`;
}

function notices(act: PageActions): TemplateResult {
  const { slow, notes, error } = act.state;
  return html`${
    slow
      ? notice("info", "Waiting for the server …", {
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
