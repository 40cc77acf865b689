/**
 * The flows of the selected requests, before and after, as one picture, two pictures or an animation, with the controls above and the
 * texts next to it.
 *
 * Invariant: a change of the mode, the selection, the anchor or the zoom leaves the others unchanged.
 */
import { html, nothing, type TemplateResult } from "lit";
import "./draw/element";
import type { FlowElement } from "./draw/element";
import { flowToolbar, thresholdPicker } from "./draw/toolbar";
import { type Difference, differences } from "./model/differences";
import type { Flow } from "./model/flow";
import { type FlowMode, nextMode } from "./model/mode";
import { count } from "../../../ui/text/format";
import { explanation, type Significance, significance, type Threshold } from "./model/significance";
import { interval, intervalText } from "./model/interval";
import type { Flow as Direction } from "../../../graph/layout/types";

/** Differences that are read; the rest is counted. */
const TOLD = 60;
const DEFAULT: Threshold = { alpha: 0.05, slower: 0.02 };

/** What the view around it knows and does. */
export interface FlowContext {
  mode(): FlowMode;
  /** Remembers another way of comparing. */
  setMode(mode: FlowMode): void;
  selected(): readonly string[];
  select(ids: readonly string[]): void;
  found(): readonly string[];
  direction(): Direction | "auto";
  setDirection(direction: Direction): void;
  open(id: string): void;
  changed(): void;
}

export class FlowSection {
  private name = "";
  private flow: Flow | undefined;
  private significance: Significance | undefined;
  private told: readonly Difference[] = [];
  private threshold = DEFAULT;
  private repeats = true;
  private equal = true;
  private anchor = "";
  private measuring = false;
  /** Has the picture all the room? */
  wide = false;
  /** The calls of the measured interval, the first selected one first. */
  private ends: readonly string[] = [];
  private at = -1;

  constructor(private readonly around: FlowContext) {}

  /** Another flow to show; `name` says whose, `thresholds` are what the server ranked by. */
  show(flow: Flow, name: string, { alpha = DEFAULT.alpha, slower = DEFAULT.slower }: Partial<Threshold>): void {
    if (this.flow === undefined) this.threshold = { alpha, slower };
    this.flow = flow;
    if (name !== this.name) {
      this.name = name;
      this.anchor = "";
      this.ends = [];
      this.at = -1;
    }
    this.judge();
  }

  key(event: KeyboardEvent): boolean {
    const element = this.element;
    if (event.key === "m") this.around.setMode(nextMode(this.around.mode()));
    else if (event.key === "a") this.toggleAnchor();
    else if (event.key === "s") this.toggleMeasuring();
    else if (event.key === "]" || event.key === "[") this.walk(event.key === "]" ? 1 : -1);
    else if (event.key === "w") {
      this.wide = !this.wide;
      this.around.changed();
    } else if (event.key === "x") element?.closeAll();
    else if (this.around.mode() === "animation" && element && (event.key === "," || event.key === ".")) {
      element.player.step(event.key === "." ? 1 : -1);
    } else return false;
    return true;
  }

  draw(): TemplateResult {
    const { flow, significance: found } = this;
    if (!flow || !found) return html``;
    const { around } = this;
    const mode = around.mode();
    const name = (id: string): string => flow.byId.get(id)?.name ?? "";
    return html`
      ${flowToolbar({
        mode,
        change: (to) => {
          around.setMode(to);
        },
        repeats: this.repeats,
        equal: this.equal,
        fold: (change) => {
          this.repeats = change.repeats ?? this.repeats;
          this.equal = change.equal ?? this.equal;
          around.changed();
        },
        anchor: name(this.anchor),
        canAnchor: around.selected().length > 0,
        toggleAnchor: () => {
          this.toggleAnchor();
        },
        measuring: this.measuring,
        toggleMeasuring: () => {
          this.toggleMeasuring();
        },
        next: (by) => {
          this.walk(by);
        },
        differences: this.told.length,
        wide: this.wide,
        widen: (wide) => {
          this.wide = wide;
          around.changed();
        },
      })}
      ${this.measuring ? this.drawStretch(flow) : nothing}
      <clew-flow
        .flow=${flow}
        .found=${found}
        .mode=${mode}
        .selected=${around.selected()}
        .hits=${around.found()}
        .measured=${this.measured(flow)}
        .anchor=${this.anchor}
        .repeats=${this.repeats}
        .equal=${this.equal}
        .direction=${around.direction()}
        .label=${`Calls of both flows: ${count(flow.calls.length, "call")}, ${count(this.told.length, "difference")}`}
        @clew-select=${(event: CustomEvent<string[]>) => {
          this.select(event.detail);
        }}
        @clew-open=${(event: CustomEvent<string>) => {
          if (!this.measuring) around.open(event.detail);
        }}
        @clew-flow=${(event: CustomEvent<Direction>) => {
          around.setDirection(event.detail);
        }}
      ></clew-flow>
    `;
  }

  /** The texts next to the picture: the threshold for marks, and the differences. */
  drawWords(): TemplateResult {
    const { flow, significance: found } = this;
    if (!flow || !found) return html``;
    const words = explanation(flow, found, this.threshold);
    return html`
      <details class="significance">
        <summary>Marked as significant: ${count(found.calls.size, "call")}, ${count(found.edges.size, "edge")}</summary>
        ${thresholdPicker(this.threshold, words, (threshold) => {
          this.threshold = threshold;
          this.judge();
          this.around.changed();
        })}
      </details>
      <details class="differences">
        <summary>${this.told.length > 0 ? count(this.told.length, "difference") : "No difference"}</summary>
        <ol>
          ${this.told.slice(0, TOLD).map(
            (one, index) =>
              html`<li class=${one.kind}>
                <button
                  type="button"
                  class="link"
                  aria-current=${index === this.at ? "true" : "false"}
                  @click=${() => {
                    this.goTo(index);
                  }}
                >
                  <span aria-hidden="true">${SIGNS[one.kind]}</span> ${one.sentence}
                </button>
              </li>`,
          )}
        </ol>
        ${this.told.length > TOLD ? html`<p class="muted">and ${count(this.told.length - TOLD, "smaller one")}</p>` : nothing}
      </details>
    `;
  }

  private get element(): FlowElement | null {
    return document.querySelector<FlowElement>("clew-flow");
  }

  private judge(): void {
    if (!this.flow) return;
    this.significance = significance(this.flow, this.threshold);
    this.told = differences(this.flow, this.significance);
  }

  private select(ids: readonly string[]): void {
    if (this.measuring && ids[0] !== undefined) {
      this.ends = this.ends.length === 1 ? [...this.ends, ids[0]] : [ids[0]];
    }
    this.around.select(ids);
  }

  private walk(by: 1 | -1): void {
    const { length } = this.told;
    if (length > 0) this.goTo((this.at + by + length + (this.at < 0 && by < 0 ? 1 : 0)) % length);
  }

  private goTo(index: number): void {
    const one = this.told[index];
    if (!one) return;
    this.at = index;
    this.around.select([one.id]);
  }

  private toggleAnchor(): void {
    this.anchor = this.anchor ? "" : (this.around.selected()[0] ?? "");
    this.around.changed();
  }

  private toggleMeasuring(): void {
    this.measuring = !this.measuring;
    this.ends = this.measuring ? this.around.selected().slice(0, 1) : [];
    this.around.changed();
  }

  private measured(flow: Flow): readonly string[] {
    const [one, other] = this.ends;
    if (one === undefined || other === undefined) return this.ends;
    return interval(flow, one, other)?.path.map((call) => call.id) ?? [];
  }

  private drawStretch(flow: Flow): TemplateResult {
    const [one, other] = this.ends;
    const found = one !== undefined && other !== undefined ? interval(flow, one, other) : undefined;
    if (!found) {
      const name = flow.byId.get(one ?? "")?.name;
      return html`<p class="stretch" role="status">
        ${name ? html`From the start of <b>${name}</b>: select the call where it ends.` : "Select the call where the interval starts."}
      </p>`;
    }
    return html`<p class="stretch" role="status">
      From the start of <b>${found.from.name}</b> to the end of <b>${found.to.name}</b>:
      <b class="whole">${intervalText(found)}</b>, through ${count(found.path.length, "call")}
    </p>`;
  }
}

const SIGNS: Record<Difference["kind"], string> = { before: "−", after: "+", moved: "↷", slower: "▲" };
