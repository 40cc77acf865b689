/**
 * `<clew-flow>`: draws two flows as one picture, side by side, or as an animation from before to after.
 *
 * Invariant: the element shows its properties; user actions leave it as events: `clew-select` (ids of calls), `clew-open` (the id of a
 * call whose source to show), `clew-flow`, and `clew-drawn` with the number of nodes. A change of the mode keeps the zoom and the
 * position of the selected call.
 */
import { html, nothing, type PropertyValues, render, svg, type SVGTemplateResult, type TemplateResult } from "lit";
import type { FlowDrawing } from "../layout/shapes";
import { boundedLines, movedCalls } from "../layout/correspondence";
import type { Flow as Direction, PlacedNode, Point } from "../../../../graph/layout/types";
import { type Flow, type FlowCall, subtree } from "../model/flow";
import { flowStep } from "../model/navigation";
import { count } from "../../../../ui/text/format";
import type { Arrow } from "../../../../graph/navigation";
import { betterDirection, betweenPicture, fold, isLaned, pictureOf, type Prepared, prepare } from "../layout/prepare";
import type { Significance } from "../model/significance";
import type { FlowMode } from "../model/mode";
import { measurer } from "../../../../graph/textWidth";
import type { Frame } from "../../../../graph/viewport";
import { DrawingElement } from "../../../../graph/drawingElement";
import { animationControls, foldAgain, sideControls } from "./controls";
import { drawLines, type SideOf } from "./lines";
import "./minimap";
import type { MinimapElement } from "./minimap";
import { Player } from "./player";
import { type PaneName, Stage } from "./stage";
import { drawFlow, type FlowLook } from "./shapes";

/** Lines between two pictures, at most. */
const LINES = 60;
const ALL_LINES = 400;

export class FlowElement extends DrawingElement {
  static override properties = {
    flow: { attribute: false },
    found: { attribute: false },
    mode: { attribute: false },
    hits: { attribute: false },
    measured: { attribute: false },
    anchor: { attribute: false },
    repeats: { attribute: false },
    equal: { attribute: false },
    direction: { attribute: false },
  };

  declare flow: Flow | undefined;
  declare found: Significance | undefined;
  declare mode: FlowMode;
  declare hits: readonly string[];
  declare measured: readonly string[];
  declare anchor: string;
  declare repeats: boolean;
  declare equal: boolean;
  declare direction: Direction | "auto";

  /** Are all lines between the sides drawn? */
  private allLines = false;
  private readonly opened = new Set<string>();
  private prepared: Prepared | undefined;
  private drawings: Partial<Record<PaneName, FlowDrawing>> = {};
  private hovered = "";
  private hiddenLines = 0;
  /** Was the keyboard in the picture that makes way for another? */
  private refocus = false;
  private readonly stage = new Stage(this, () => {
    this.seen();
  });
  readonly player = new Player(() => {
    this.requestUpdate();
  });

  constructor() {
    super("Flow");
    this.mode = "diff";
    this.hits = [];
    this.measured = [];
    this.anchor = "";
    this.repeats = true;
    this.equal = true;
    this.direction = "auto";
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.player.pause();
  }

  protected override resize(): void {
    if (!this.stage.moved) {
      this.stage.restart();
      this.settle(true);
    }
    this.seen();
  }

  private get panes(): readonly PaneName[] {
    return this.mode === "sides" ? ["before", "after"] : ["main"];
  }

  // --- what is drawn ---
  protected override willUpdate(changed: PropertyValues<this>): void {
    const { flow, found } = this;
    if (changed.has("mode")) {
      this.refocus = this.contains(document.activeElement);
      const before = changed.get("mode");
      if (before) this.keep(before);
      this.player.goTo(0);
    }
    if (!flow || !found) {
      this.prepared = undefined;
      return;
    }
    if (changed.has("flow")) {
      this.stage.restart();
      this.opened.clear();
    } else if (changed.has("anchor") || changed.has("found") || changed.has("repeats") || changed.has("equal")) {
      this.keep(this.mode);
    }
    if (!this.prepared || CHANGES.some((name) => changed.has(name))) this.prepare(flow, found);
    this.draw();
  }

  private prepare(flow: Flow, found: Significance): void {
    const { repeats, equal, opened, anchor } = this;
    const measure = measurer(this);
    const wish = { flow, found, repeats, equal, opened, anchor };
    const shown = fold(wish);
    const lay = (direction: Direction): Prepared => prepare(wish, shown, direction, measure);
    if (this.direction !== "auto") this.prepared = lay(this.direction);
    // Beside each other flows go down: only so do the lines between them slope where one takes longer.
    else if (this.mode === "sides") this.prepared = lay("down");
    else if (isLaned(shown)) this.prepared = lay("right");
    else {
      const [down, right] = [lay("down"), lay("right")];
      const { width, height } = this.getBoundingClientRect();
      const better = betterDirection(
        { down: pictureOf(down, "union"), right: pictureOf(right, "union") },
        width,
        height,
      );
      this.prepared = better === "down" ? down : right;
    }
    this.dispatchEvent(new CustomEvent("clew-drawn", { detail: shown.calls.length }));
  }

  private draw(): void {
    const { prepared, mode } = this;
    if (!prepared) return;
    if (mode === "sides") {
      this.drawings = { before: pictureOf(prepared, "before"), after: pictureOf(prepared, "after") };
    } else if (mode === "diff") this.drawings = { main: pictureOf(prepared, "union") };
    else {
      const { state, time } = this.player;
      this.drawings = {
        main: state === "between" ? betweenPicture(prepared, time).drawing : pictureOf(prepared, state),
      };
    }
  }

  protected override updated(changed: PropertyValues<this>): void {
    this.stage.attach(this.panes);
    if (!this.prepared) return;
    this.settle(changed.has("mode"));
    if (changed.has("selected")) this.show(this.chosen);
    if (this.refocus) this.focusNode();
    this.refocus = false;
    this.seen();
  }

  // --- where it is looked at ---
  override zoomBy(factor: number): void {
    this.stage.zoomBy(factor);
  }

  override fit(): void {
    this.stage.fit(this.frame);
  }

  /** What all panes show together, so that synchronous ones see the same. */
  private get frame(): Frame {
    const frames = this.panes.flatMap((name) => this.drawings[name]?.frame ?? []);
    const [x, y] = [Math.min(...frames.map((one) => one.x)), Math.min(...frames.map((one) => one.y))];
    return {
      x,
      y,
      width: Math.max(...frames.map((one) => one.x + one.width)) - x,
      height: Math.max(...frames.map((one) => one.y + one.height)) - y,
    };
  }

  private settle(anew: boolean): void {
    this.stage.settle(this.frame, this.drawings[this.panes[0] ?? "main"]?.nodes ?? [], anew);
  }

  /** Before another picture is drawn: what is to stay where it is, as far as it is there. */
  private keep(mode: FlowMode): void {
    const pane: PaneName = mode === "sides" ? "before" : "main";
    const wanted = [this.holderOf(this.anchor), this.holderOf(this.selected[0] ?? "")];
    this.stage.keep(pane, this.drawings[pane]?.nodes ?? [], wanted);
  }

  /** Draws what depends on what is seen: the lines between the sides, and the maps in the corners. */
  private seen(): void {
    for (const name of this.panes) {
      const map = this.querySelector<MinimapElement>(`.pane.${name} clew-minimap`);
      if (map) map.view = this.stage.viewports[name].seen;
    }
    const overlay = this.querySelector<HTMLElement>("g.correspondences");
    if (!overlay || this.mode !== "sides" || !this.prepared) return;
    const { shown, strong } = this.lines(this.prepared);
    const side = (name: "before" | "after"): SideOf => this.stage.sideOf(name, this.drawings[name]?.nodes ?? []);
    render(drawLines(shown, strong, side("before"), side("after")), overlay);
  }

  /** Of what is chosen or pointed at, and of all below it; of what moved; or of all. */
  private lines({ boxes: nodes, before, after, flow }: Prepared): { shown: string[]; strong: ReadonlySet<string> } {
    const near = [this.hovered, ...this.selected.map((id) => this.holderOf(id))].filter(Boolean);
    const strong = new Set(near.flatMap((id) => subtree(flow, id).map((call) => call.id)));
    const others = this.allLines ? nodes.map((node) => node.id) : movedCalls(nodes, before, after);
    const both = new Set(nodes.filter((node) => before.has(node.id) && after.has(node.id)).map((node) => node.id));
    const there = (ids: readonly string[]): string[] => ids.filter((id) => both.has(id));
    const { shown, hidden } = boundedLines(there([...strong]), there(others), this.allLines ? ALL_LINES : LINES);
    this.hiddenLines = hidden;
    return { shown, strong };
  }

  // --- what the user does ---
  /** The node of a call, "" for none. */
  private holderOf(id: string): string {
    if (!id) return "";
    return this.prepared?.flow.calls.find((call) => call.members.some((one) => one.id === id))?.id ?? "";
  }

  protected override get chosen(): string {
    return this.holderOf(this.selected[0] ?? "");
  }

  protected override get first(): string | undefined {
    return this.prepared?.flow.calls[0]?.id;
  }

  protected override next(from: string, arrow: Arrow): string | undefined {
    if (!this.prepared) return undefined;
    const visible = new Set(this.panes.flatMap((name) => this.drawings[name]?.nodes.map((node) => node.id) ?? []));
    return flowStep(this.prepared.flow, this.prepared.direction, from, arrow, (id) => visible.has(id));
  }

  protected override show(id: string): void {
    for (const name of this.panes) {
      const node = this.drawings[name]?.nodes.find((one) => one.id === id);
      if (!node) continue;
      this.stage.viewports[name].reveal(frameOf(node));
      if (this.stage.synced) return;
    }
  }

  /** Takes a folded node apart, or goes to a call's source. */
  private open(call: FlowCall): void {
    const [first] = call.members;
    if (call.kind === "call") this.dispatchEvent(new CustomEvent("clew-open", { detail: first?.id ?? call.id }));
    else {
      this.keep(this.mode);
      this.opened.add(call.id);
      this.again();
    }
  }

  /** Folds again what was taken apart. */
  closeAll(): void {
    if (this.opened.size === 0) return;
    this.keep(this.mode);
    this.opened.clear();
    this.again();
  }

  private again(): void {
    if (this.flow && this.found) this.prepare(this.flow, this.found);
    this.requestUpdate();
  }

  protected override choose(id: string, open: boolean): void {
    const call = this.prepared?.flow.byId.get(id);
    if (!call) return;
    this.focused = id;
    this.dispatchEvent(new CustomEvent("clew-select", { detail: call.members.map((one) => one.id) }));
    if (open) this.open(call);
  }

  // --- drawing ---
  protected override render(): TemplateResult {
    const { prepared, mode, player } = this;
    const between = mode === "animation" && player.state === "between";
    return html`
      ${
        mode === "animation"
          ? animationControls(player, (speed) => {
              player.speed = speed;
              this.requestUpdate();
            })
          : nothing
      }
      ${
        prepared && prepared.lanes.length > 0
          ? html`<p class="lanes-word" role="note">
              ${count(prepared.boxes.length, "node")} are too many for a tree, so they are drawn in lanes: one per
              function that starts a task or a thread or handles a message. To see the tree, fold equal calls and group
              repeats.
            </p>`
          : nothing
      }
      <div
        class="panes ${mode} ${between ? "between" : ""}"
        role="group"
        aria-label=${this.label}
        @keydown=${(event: KeyboardEvent) => {
          this.key(event);
        }}
      >
        ${mode === "sides" ? html`<svg class="lines" aria-hidden="true"><g class="correspondences"></g></svg>` : nothing}
        ${this.panes.map((name) => this.pane(name, prepared))} ${prepared ? this.controls(prepared) : nothing}
        ${between ? html`<p class="between-word" aria-hidden="true">interpolated (not a recorded state)</p>` : nothing}
      </div>
    `;
  }

  private pane(name: PaneName, prepared: Prepared | undefined): TemplateResult {
    const drawing = this.drawings[name];
    const words = name === "main" ? (this.mode === "animation" ? this.player.state : "") : name;
    return html`<div class="pane ${name}" data-shown=${words}>
      ${words && words !== "between" ? html`<span class="side-word ${words}">${words === "before" ? "− before" : "+ after"}</span>` : nothing}
      <svg class="canvas" role="group" aria-roledescription="graph" aria-label=${words || this.label}>
        <g class="content">${prepared && drawing ? this.content(name, drawing, prepared) : nothing}</g>
      </svg>
      ${drawing?.nodes.length === 0 ? html`<p class="empty-side">This flow has no requests ${words}.</p>` : nothing}
      <span class="far-word" aria-hidden="true"
        >${drawing ? `${count(drawing.labels.length, "time")} not shown; zoom in to see more` : nothing}</span
      >
      <clew-minimap
        .drawing=${drawing}
        .look=${(id: string) => this.look(id)}
        @clew-goto=${(event: CustomEvent<Point>) => {
          this.stage.viewports[name].centre(event.detail);
        }}
      ></clew-minimap>
    </div>`;
  }

  private content(name: PaneName, drawing: FlowDrawing, prepared: Prepared): SVGTemplateResult {
    const { mode, player, found } = this;
    if (!found) return svg``;
    const between = mode === "animation" && player.state === "between";
    const opacity = between ? betweenPicture(prepared, player.time).opacity : (): number => 1;
    const look: FlowLook = {
      flow: prepared.flow,
      found,
      shown: name !== "main" ? name : mode === "animation" && player.state !== "between" ? player.state : "both",
      selected: new Set(this.selected),
      hits: new Set(this.hits),
      measured: new Set(this.measured),
      anchor: this.anchor ? prepared.anchor : "",
      measure: measurer(this),
      opacity: (call) => opacity(call.id),
      labelled: !between,
    };
    const there = (id: string): boolean => drawing.nodes.some((node) => node.id === id);
    const wanted = [this.focused, this.holderOf(this.selected[0] ?? ""), drawing.nodes[0]?.id ?? ""];
    return drawFlow(
      drawing,
      look,
      {
        choose: (id) => {
          this.choose(id, true);
        },
        focus: (id) => {
          this.focused = id;
        },
        hover: (id) => {
          this.hovered = id;
          if (mode === "sides") this.seen();
        },
      },
      wanted.find((id) => there(id)) ?? "",
    );
  }

  /** How a node is drawn in the map. */
  private look(id: string): string {
    const call = this.prepared?.flow.byId.get(id);
    const sure = call?.members.some((one) => this.found?.calls.has(one.id)) ?? false;
    const chosen = call?.members.some((one) => this.selected.includes(one.id)) ?? false;
    return [call?.status ?? "both", sure ? "sure" : "", chosen ? "chosen" : ""].filter(Boolean).join(" ");
  }

  private controls(prepared: Prepared): TemplateResult {
    const { before, after } = this.stage.viewports;
    return this.zoomControls(
      prepared.direction,
      html`${
        this.mode === "sides"
          ? sideControls({
              synced: this.stage.synced,
              sync: (synced) => {
                this.stage.synced = synced;
                if (synced) after.take(before.transform);
                this.requestUpdate();
              },
              allLines: this.allLines,
              showAll: (all) => {
                this.allLines = all;
                this.requestUpdate();
              },
              hidden: this.hiddenLines > 0 ? `${count(this.hiddenLines, "more line")} not drawn` : "",
            })
          : nothing
      }
      ${
        this.opened.size > 0
          ? foldAgain(() => {
              this.closeAll();
            })
          : nothing
      }`,
    );
  }
}

/** What makes another layout. */
const CHANGES = ["flow", "mode", "found", "anchor", "repeats", "equal", "direction"] as const;

customElements.define("clew-flow", FlowElement);

function frameOf(node: PlacedNode): Frame {
  return { x: node.x - node.width / 2, y: node.y - node.height / 2, width: node.width, height: node.height };
}
