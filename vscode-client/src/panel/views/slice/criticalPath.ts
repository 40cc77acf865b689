/** The critical path of a slice, next to its graph, loaded on first use. */
import { html, nothing, type TemplateResult } from "lit";
import type { CriticalPathResult, PathSegment, SliceParams } from "../../../shared/protocol";
import { notice, sentence } from "../../ui/parts";
import { segmentLegend, segmentList } from "../../segments/table";
import type { SliceQuestion } from "./question";
import { duration } from "../../ui/text/format";
import type { Context } from "../contract";

export interface PathActions {
  readonly selected: readonly string[];
  choose(nodes: readonly string[]): void;
}

export class SlicePath {
  private path: { of: SliceParams; result?: CriticalPathResult; error?: string } | undefined;
  /** Folded rows that the user opened. */
  private opened: ReadonlySet<number> = new Set();

  constructor(private readonly context: Context<SliceQuestion>) {}

  /** Asks for it where it is not known yet. */
  async load(params: SliceParams): Promise<void> {
    if (this.path?.of === params) return;
    const loading: NonNullable<typeof this.path> = { of: params };
    this.path = loading;
    this.opened = new Set();
    try {
      const { target, run = "", level } = params;
      const asked = level === undefined || level === "event" ? { target, run } : { target, run, level };
      loading.result = await this.context.request("clew/criticalPath", asked);
    } catch (error) {
      loading.error = error instanceof Error ? error.message : String(error);
    }
    this.context.store.changed();
  }

  draw(act: PathActions): TemplateResult {
    const path = this.path;
    return html`<section class="path" aria-labelledby="path-title">
      <h3 id="path-title">
        Critical path ${path?.result ? html`<small>${duration(path.result.totalNs)}</small>` : nothing}
      </h3>
      ${
        path?.error
          ? notice("error", path.error)
          : !path?.result
            ? html`<p class="muted">Loading …</p>`
            : path.result.segments.length === 0
              ? html`<p class="muted">${sentence(path.result.message || "This slice has no critical path.")}</p>`
              : html`${segmentLegend(path.result)}
                ${segmentList(
                  path.result,
                  {
                    selected: new Set(act.selected),
                    opened: this.opened,
                    search: "",
                    open: (row) => {
                      this.opened = new Set([...this.opened, row.startNs]);
                      this.context.store.changed();
                    },
                    select: (segment: PathSegment) => {
                      act.choose(segment.nodeId ? [segment.nodeId] : []);
                    },
                    reveal: (location) => {
                      this.context.reveal(location);
                    },
                  },
                  false,
                )}`
      }
    </section>`;
  }
}
