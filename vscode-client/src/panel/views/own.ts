/**
 * A view that a workspace brings along, kept apart from the panel around it.
 *
 * Invariant: whatever its code throws is shown in its place, and nowhere else.
 */
import { html, render, type TemplateResult } from "lit";
import { emptyState } from "../draw/parts";
import type { OwnMade, OwnModule } from "../kinds/own";
import { clewOf } from "./clew";
import type { Context, Selection, View } from "./view";

export class OwnView implements View {
  private readonly made: OwnMade | undefined;
  private problem = "";
  private host = document.createElement("div");

  constructor(
    private readonly file: string,
    make: OwnModule["make"],
    context: Context,
  ) {
    this.made = this.guarded(() => make(clewOf(context)));
    if (this.made === undefined || typeof this.made.draw !== "function") {
      this.problem ||= "what its `make` gives has no `draw`";
    }
  }

  async open(question: object): Promise<void> {
    this.problem = this.made && typeof this.made.draw === "function" ? "" : this.problem;
    await this.made?.open?.(question);
  }

  handle(): void {
    // It keeps what it was answered itself.
  }

  unhandle(): void {
    this.guarded(() => this.made?.unhandle?.());
  }

  /** It has an element of its own, so that what cannot be drawn of it leaves the rest of the page as it is. */
  draw(): TemplateResult {
    if (!this.problem) {
      this.guarded(() => {
        render(this.made?.draw(), this.host);
      });
    }
    if (this.problem) {
      this.host = document.createElement("div");
      render(
        emptyState("This view failed", `${this.file}: ${this.problem}. Change it, then reload the panel.`),
        this.host,
      );
    }
    this.host.className = "own";
    return html`<div class="view scrolling">${this.host}</div>`;
  }

  select(selection: Selection): void {
    this.guarded(() => this.made?.select?.(selection));
  }

  focus(): void {
    this.host.querySelector<HTMLElement>("[tabindex], button, a, input, select")?.focus();
  }

  found(): { matches: number; all: number } | undefined {
    return this.guarded(() => this.made?.found?.());
  }

  shownRun(): string | undefined {
    return undefined;
  }

  key(event: KeyboardEvent): boolean {
    return this.guarded(() => this.made?.key?.(event)) === true;
  }

  private guarded<T>(run: () => T): T | undefined {
    try {
      return run();
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      return undefined;
    }
  }
}
