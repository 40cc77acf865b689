/**
 * Zoom and pan of the panes of flows: one picture, or two that move together.
 *
 * Invariant: a new picture keeps the position and the zoom of the calls that stay; a picture that the user did not move starts at its
 * beginning.
 */
import type { PlacedNode, Point } from "../../../../graph/layout/types";
import { type Frame, Viewport } from "../../../../graph/viewport";
import type { SideOf } from "./lines";

export type PaneName = "main" | "before" | "after";

interface Kept {
  id: string;
  /** Where in the pane: as a share of its width, and in px from its top. */
  at: Point;
  scale: number;
}

export class Stage {
  readonly viewports: Readonly<Record<PaneName, Viewport>>;
  /** Do both sides move together? */
  synced = true;
  private panes: readonly PaneName[] = [];
  private kept: Kept | undefined;
  private fitted = false;

  constructor(
    private readonly element: HTMLElement,
    private readonly changed: () => void,
  ) {
    const make = (name: PaneName): Viewport =>
      new Viewport((viewport) => {
        this.follow(name, viewport);
      });
    this.viewports = { main: make("main"), before: make("before"), after: make("after") };
  }

  /** The panes as they are in the page now. */
  attach(panes: readonly PaneName[]): void {
    this.panes = panes;
    for (const name of panes) {
      const canvas = this.pane(name)?.querySelector("svg.canvas");
      const content = this.pane(name)?.querySelector("g.content");
      if (canvas instanceof SVGSVGElement && content instanceof SVGGElement) {
        this.viewports[name].attach(canvas, content);
      }
    }
  }

  get moved(): boolean {
    return this.viewports[this.panes[0] ?? "main"].moved;
  }

  zoomBy(factor: number): void {
    for (const name of this.synced ? this.panes.slice(0, 1) : this.panes) this.viewports[name].zoomBy(factor);
  }

  fit(frame: Frame): void {
    for (const name of this.panes) this.viewports[name].fit(frame);
  }

  /** Something else is shown next: from its begin, as if for the first time. */
  restart(): void {
    this.fitted = false;
  }

  /** Remembers where a node is: the first of the wanted ones that is there, else the one nearest to the middle. */
  keep(pane: PaneName, nodes: readonly PlacedNode[], wanted: readonly string[]): void {
    const viewport = this.viewports[pane];
    const canvas = this.pane(pane)?.getBoundingClientRect();
    if (!canvas || canvas.width === 0 || !viewport.moved) return;
    const { transform } = viewport;
    const [x, y] = transform.invert([canvas.width / 2, canvas.height / 2]);
    const away = (node: PlacedNode): number => Math.hypot(node.x - x, node.y - y);
    const chosen = wanted.flatMap((id) => nodes.find((node) => node.id === id) ?? [])[0];
    const box = chosen ?? [...nodes].sort((a, b) => away(a) - away(b))[0];
    if (!box) return;
    const [atX, atY] = transform.apply([box.x, box.y]);
    this.kept = { id: box.id, at: [atX / canvas.width, atY], scale: transform.k };
  }

  /** Shows the current drawing: where the kept node was, or from the start if the user did not move it; `anew`: another picture. */
  settle(frame: Frame, nodes: readonly PlacedNode[], anew: boolean): void {
    const { kept } = this;
    const node = nodes.find((one) => one.id === kept?.id);
    const [first] = nodes;
    if (kept) {
      for (const name of this.panes) {
        const viewport = this.viewports[name];
        viewport.zoomBy(kept.scale / viewport.transform.k);
        if (node) viewport.centre([node.x, node.y], [kept.at[0] * (this.pane(name)?.clientWidth ?? 0), kept.at[1]]);
      }
    } else if (first && (!this.fitted || (anew && !this.moved))) {
      const start = {
        x: first.x - first.width / 2,
        y: first.y - first.height / 2,
        width: first.width,
        height: first.height,
      };
      for (const name of this.panes) this.viewports[name].homeAtCorner(frame, start);
    }
    this.fitted = true;
    this.kept = undefined;
  }

  sideOf(name: "before" | "after", nodes: readonly PlacedNode[]): SideOf {
    const rect = this.pane(name)?.getBoundingClientRect();
    const { left } = this.element.getBoundingClientRect();
    return {
      nodes: new Map(nodes.map((node) => [node.id, node])),
      transform: this.viewports[name].transform,
      left: (rect?.left ?? left) - left,
      width: rect?.width ?? 0,
    };
  }

  private pane(name: PaneName): Element | null {
    return this.element.querySelector(`.pane.${name}`);
  }

  private follow(name: PaneName, viewport: Viewport): void {
    if (this.synced && name !== "main") {
      const other = this.viewports[name === "before" ? "after" : "before"];
      other.moved = viewport.moved;
      other.take(viewport.transform);
    }
    this.changed();
  }
}
