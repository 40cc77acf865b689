/**
 * What is seen of the panes that flows are drawn in: zoom and pan of one picture, or of two that move together.
 *
 * Invariant: when another picture is drawn, what was kept is at the same place of its pane, at the same zoom; what the user has not
 * moved is shown from its begin.
 */
import type { PlacedBox, Point } from "../../layout/types";
import { type Frame, Viewport } from "../viewport";
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

  /** Remembers where a box is: the first of the wanted ones that is there, else the one nearest to the middle. */
  keep(pane: PaneName, boxes: readonly PlacedBox[], wanted: readonly string[]): void {
    const viewport = this.viewports[pane];
    const canvas = this.pane(pane)?.getBoundingClientRect();
    if (!canvas || canvas.width === 0 || !viewport.moved) return;
    const { transform } = viewport;
    const [x, y] = transform.invert([canvas.width / 2, canvas.height / 2]);
    const away = (box: PlacedBox): number => Math.hypot(box.x - x, box.y - y);
    const chosen = wanted.flatMap((id) => boxes.find((box) => box.id === id) ?? [])[0];
    const box = chosen ?? [...boxes].sort((a, b) => away(a) - away(b))[0];
    if (!box) return;
    const [atX, atY] = transform.apply([box.x, box.y]);
    this.kept = { id: box.id, at: [atX / canvas.width, atY], scale: transform.k };
  }

  /** Shows what is drawn now: where the kept box was, or from the begin where nothing was moved; `anew` another picture. */
  settle(frame: Frame, boxes: readonly PlacedBox[], anew: boolean): void {
    const { kept } = this;
    const box = boxes.find((one) => one.id === kept?.id);
    const [first] = boxes;
    if (kept) {
      for (const name of this.panes) {
        const viewport = this.viewports[name];
        viewport.zoomBy(kept.scale / viewport.transform.k);
        if (box) viewport.centre([box.x, box.y], [kept.at[0] * (this.pane(name)?.clientWidth ?? 0), kept.at[1]]);
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

  sideOf(name: "before" | "after", boxes: readonly PlacedBox[]): SideOf {
    const rect = this.pane(name)?.getBoundingClientRect();
    const { left } = this.element.getBoundingClientRect();
    return {
      boxes: new Map(boxes.map((box) => [box.id, box])),
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
