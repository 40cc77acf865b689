/**
 * Runs a custom view, isolated from the rest of the panel.
 *
 * Invariant: an error of the custom code is shown in place of the view and nowhere else.
 */
import { html, render, type TemplateResult } from "lit";
import { emptyState } from "../../ui/parts";
import type { CustomModule, CustomViewInstance } from "./module";
import { clewOf } from "./api";
import type { Context, View } from "../contract";
import type { Selection } from "../selection";

export class CustomView implements View {
  private readonly made: CustomViewInstance | undefined;
  private problem = "";
  private host = document.createElement("div");

  constructor(
    private readonly file: string,
    make: CustomModule["make"],
    context: Context,
  ) {
    this.made = this.guarded(() => make(clewOf(context)));
    if (this.made === undefined || typeof this.made.draw !== "function") {
      this.problem ||= "the object that `make` returns has no `draw`";
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
        emptyState("This view failed", `${this.file}: ${this.problem}. Fix the view, then reload the panel.`),
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
