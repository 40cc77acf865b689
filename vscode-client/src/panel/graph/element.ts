/**
 * `<clew-graph>`: draws a laid-out graph as SVG, with zoom, selection and keys.
 *
 * Invariant: the element shows its properties; user actions leave it as events: `clew-select` (ids), `clew-open` (the id of a node whose
 * source to show) and `clew-flow`.
 */
import { html, nothing, type PropertyValues, svg, type SVGTemplateResult, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { LayoutClient } from "./layout/client";
import { curve } from "./layout/curve";
import type { Flow, Layout, PlacedNode } from "./layout/types";
import { coalesce, LAYOUT_LIMIT } from "./coalesce";
import { count } from "../ui/text/format";
import type { PanelGraph } from "./model";
import { type Arrow, start, step } from "./navigation";
import { layoutInput, type Measure } from "./sizes";
import { DrawingElement } from "./drawingElement";
import { measurer } from "./textWidth";
import { processColours } from "../ui/processColours";
import {
  arrowHead,
  ARROW_HEADS,
  drawEdge,
  drawFrame,
  type DrawnFrame,
  drawLabel,
  drawGraphNode,
  type Look,
  type GraphNodeActions,
  type PlacedLabel,
  placeLabels,
  rank,
} from "./shapes";
import { type Frame, Viewport } from "./viewport";

/** Above this ratio of width to height the chain flows to the right, unless the user says otherwise. */
const WIDE = 1.9;
/** A layout that takes longer says so. */
const NOTICEABLE_MS = 300;

export class GraphElement extends DrawingElement {
  static override properties = {
    graph: { attribute: false },
    placed: { attribute: false },
    frames: { attribute: false },
    found: { attribute: false },
    showPath: { attribute: false },
    flow: { attribute: false },
  };

  declare graph: PanelGraph | undefined;
  /** Where its nodes are, for a graph that grows in place: nothing is laid out, coalesced or fitted then, and arrows are the view's. */
  declare placed: Layout | undefined;
  /** Around some of those nodes, each tied to the node that it belongs to. */
  declare frames: readonly DrawnFrame[];
  declare found: readonly string[];
  declare showPath: boolean;
  declare flow: Flow | "auto";

  private readonly layouts = new LayoutClient();
  private readonly viewport = new Viewport();
  private readonly opened = new Set<string>();
  private shown: PanelGraph | undefined;
  private layout: Layout | undefined;
  private labels: readonly PlacedLabel[] = [];
  private measure: Measure = (text) => text.length * 7;
  private problem = "";
  private laying = false;
  private fitted = false;
  constructor() {
    super("Graph");
    this.frames = [];
    this.found = [];
    this.showPath = false;
    this.flow = "auto";
  }

  protected override resize(): void {
    if (!this.layout) return;
    if (!this.viewport.moved) this.home();
    this.showSelection();
  }

  protected override updated(changed: PropertyValues<this>): void {
    const canvas = this.querySelector("svg.canvas");
    const content = this.querySelector("g.content");
    if (canvas instanceof SVGSVGElement && content instanceof SVGGElement) this.viewport.attach(canvas, content);
    if (changed.has("graph")) {
      this.opened.clear();
      this.fitted &&= this.placed !== undefined || sameShape(changed.get("graph"), this.graph);
    }
    if (changed.has("graph") || changed.has("flow")) void this.lay(changed.has("flow"));
    if (changed.has("selected")) this.showSelection();
  }

  override zoomBy(factor: number): void {
    this.viewport.zoomBy(factor);
  }

  override fit(): void {
    if (this.layout) this.viewport.fit(extent(this.layout));
  }

  /** Moves just so far that these nodes are seen, the first one above all. */
  reveal(ids: readonly string[]): void {
    const wanted = new Set(ids);
    const nodes = this.layout?.nodes.filter((node) => wanted.has(node.id)) ?? [];
    if (nodes.length > 0) this.viewport.reveal(frame(nodes));
    const [first] = ids;
    if (first !== undefined) this.show(first);
  }

  protected override get chosen(): string {
    return this.selected[0] ?? "";
  }

  protected override get first(): string | undefined {
    return this.shown && start(this.shown);
  }

  protected override hasArrows(): boolean {
    return !this.placed && this.layout !== undefined;
  }

  protected override next(from: string, arrow: Arrow): string | undefined {
    return this.shown && this.layout && step(this.shown, this.layout, from, arrow);
  }

  private get actualFlow(): Flow {
    if (this.flow !== "auto") return this.flow;
    const { width, height } = this.getBoundingClientRect();
    return width > height * WIDE ? "right" : "down";
  }

  private async lay(keepPlace: boolean): Promise<void> {
    const graph = this.graph;
    if (!graph) return;
    this.measure = measurer(this);
    const { placed } = this;
    const shown = placed ? graph : coalesce(graph, LAYOUT_LIMIT, this.opened);
    const slow = setTimeout(() => {
      this.laying = true;
      this.requestUpdate();
    }, NOTICEABLE_MS);
    try {
      const layout = placed ?? (await this.layouts.layout(layoutInput(shown, this.actualFlow, this.measure)));
      // The graph may have left the page meanwhile, with its size.
      if (!layout || !this.isConnected) return;
      this.problem = "";
      this.shown = shown;
      this.layout = layout;
      this.labels = placeLabels(shown, layout, this.measure);
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      clearTimeout(slow);
      this.laying = false;
    }
    this.requestUpdate();
    await this.updateComplete;
    if (!this.fitted || keepPlace) this.home();
    this.fitted = true;
    this.showSelection();
    this.dispatchEvent(new CustomEvent("clew-laid"));
  }

  /** All of it if that stays readable, else the chain, else the place where reading starts. */
  private home(): void {
    const layout = this.layout;
    if (!layout || !this.shown) return;
    const all = this.placed ? extent(layout) : { x: 0, y: 0, width: layout.width, height: layout.height };
    const chain = new Set(this.shown.nodes.filter((node) => node.onChain || node.root).map((node) => node.id));
    const first = start(this.shown);
    const chained = frame(layout.nodes.filter((node) => chain.has(node.id)));
    this.viewport.home([all, chained], frame(layout.nodes.filter((node) => node.id === first)));
  }

  private showSelection(): void {
    const [first] = this.selected;
    if (first !== undefined) this.show(first);
  }

  protected override show(id: string): void {
    const node = this.layout?.nodes.find((one) => one.id === id);
    if (node) this.viewport.reveal(frame([node]));
  }

  protected override choose(id: string, open: boolean): void {
    const node = this.shown?.byId.get(id);
    this.focused = id;
    this.dispatchEvent(new CustomEvent("clew-select", { detail: [id] }));
    if (!open || !node) return;
    if (node.members.length > 0) {
      this.opened.add(id);
      void this.lay(false);
    } else this.dispatchEvent(new CustomEvent("clew-open", { detail: id }));
  }

  protected override render(): TemplateResult {
    const graph = this.shown;
    const layout = this.layout;
    return html`
      ${this.problem ? html`<p class="notice error" role="alert">${this.problem}</p>` : nothing}
      ${this.laying ? html`<p class="laying" role="status">Laying out ${count(this.graph?.nodes.length ?? 0, "node")} …</p>` : nothing}
      <svg
        class="canvas"
        role="group"
        aria-label=${this.label}
        aria-roledescription="graph"
        @keydown=${(event: KeyboardEvent) => {
          this.key(event);
        }}
      >
        <defs>${ARROW_HEADS.map(arrowHead)}</defs>
        <g class="content">${graph && layout ? this.content(graph, layout) : nothing}</g>
      </svg>
      ${this.zoomControls(this.placed ? undefined : (this.layout?.flow ?? "down"))}
    `;
  }

  private content(graph: PanelGraph, layout: Layout): SVGTemplateResult {
    const look: Look = {
      selected: new Set(this.selected),
      found: new Set(this.found),
      colours: processColours([...(this.graph?.processes.keys() ?? [])]),
      showPath: this.showPath,
      measure: this.measure,
    };
    const routes = new Map(layout.routes.map((route) => [route.id, route]));
    const nodes = new Map(layout.nodes.map((node) => [node.id, node]));
    // Those the eye follows are drawn last, over the others.
    const edges = [...graph.edges].sort((a, b) => rank(a, look) - rank(b, look));
    const first = this.focused && graph.byId.has(this.focused) ? this.focused : (this.selected[0] ?? start(graph));
    const act: GraphNodeActions = {
      choose: (id) => {
        this.choose(id, true);
      },
      focus: (id) => {
        this.focused = id;
      },
    };
    return svg`
      <g class="frames" aria-hidden="true">
        ${repeat(
          this.frames,
          (one) => one.id,
          (one) => drawFrame(one, this.measure),
        )}
      </g>
      <g class="edges">
        ${repeat(
          edges,
          (edge) => edge.id,
          (edge) => {
            const route = routes.get(edge.id);
            return route ? drawEdge(edge, curve(route, layout.flow), look) : nothing;
          },
        )}
      </g>
      <g class="nodes">
        ${repeat(
          graph.nodes,
          (node) => node.id,
          (node) => {
            const box = nodes.get(node.id);
            return box ? drawGraphNode(node, box, look, act, node.id === first) : nothing;
          },
        )}
      </g>
      <g class="labels" aria-hidden="true">${this.labels.map(drawLabel)}</g>
    `;
  }
}

customElements.define("clew-graph", GraphElement);

/** Are two graphs drawn at the same places? Then what is seen of the one is seen of the other. */
function sameShape(before: PanelGraph | undefined, after: PanelGraph | undefined): boolean {
  const ids = (graph: PanelGraph | undefined): string =>
    JSON.stringify([graph?.nodes, graph?.edges].map((all) => all?.map((one) => one.id)));
  return ids(before) === ids(after);
}

/** Of nodes and edges. */
function extent({ nodes, routes }: Layout): Frame {
  const bends = routes.flatMap(({ points }) => points.map(([x, y]) => ({ id: "", x, y, width: 0, height: 0 })));
  return frame([...nodes, ...bends]);
}

function frame(nodes: readonly PlacedNode[]): Frame {
  const left = Math.min(...nodes.map((node) => node.x - node.width / 2));
  const top = Math.min(...nodes.map((node) => node.y - node.height / 2));
  const right = Math.max(...nodes.map((node) => node.x + node.width / 2));
  const bottom = Math.max(...nodes.map((node) => node.y + node.height / 2));
  return { x: left, y: top, width: right - left, height: bottom - top };
}
