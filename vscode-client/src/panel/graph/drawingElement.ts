/**
 * The base class of elements that draw nodes: the style sheet of the page, keys that move from node to node, and resizing.
 *
 * Invariant: at most one node has the keyboard focus, and user actions leave the element as events.
 */
import { html, LitElement, nothing, type PropertyDeclarations, type TemplateResult } from "lit";
import type { Flow as Direction } from "./layout/types";
import { type Arrow, isArrow } from "./navigation";
import { toolButton, zoomControls } from "../ui/zoomControls";

export abstract class DrawingElement extends LitElement {
  static override properties: PropertyDeclarations = {
    selected: { attribute: false },
    label: { attribute: false },
  };

  declare selected: readonly string[];
  declare label: string;

  /** The node that was focused last. */
  protected focused = "";
  private readonly resized = new ResizeObserver(() => {
    this.resize();
  });

  constructor(label: string) {
    super();
    this.selected = [];
    this.label = label;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.resized.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.resized.disconnect();
  }

  /** The page's style sheet draws it. */
  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  abstract zoomBy(factor: number): void;
  /** Shows all of it. */
  abstract fit(): void;
  protected abstract resize(): void;
  /** The node of what is selected, "" for none. */
  protected abstract get chosen(): string;
  /** Where reading starts. */
  protected abstract get first(): string | undefined;
  /** Where an arrow leads to from a node. */
  protected abstract next(from: string, arrow: Arrow): string | undefined;
  /** Selects a node, and opens it if that is wanted. */
  protected abstract choose(id: string, open: boolean): void;

  /** Are arrows answered here, and not by the view? */
  protected hasArrows(): boolean {
    return true;
  }

  /** Moves the keyboard's focus to a node: the selected one, else the one focused last, else where reading starts. */
  focusNode(id?: string): void {
    const wanted = id ?? (this.chosen || this.focused || this.first);
    if (wanted === undefined) return;
    this.focused = wanted;
    this.requestUpdate();
    void this.updateComplete.then(() => {
      const nodes = [...this.querySelectorAll<SVGGElement>("g.node")];
      nodes.find((one) => one.dataset.id === wanted)?.focus({ preventScroll: true });
      this.show(wanted);
    });
  }

  /** Moves what is seen just so far that a node is in it. */
  protected abstract show(id: string): void;

  protected key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const current = this.focused || this.chosen;
    if (isArrow(event.key)) {
      if (!this.hasArrows()) return;
      const next = current ? this.next(current, event.key) : this.first;
      if (next !== undefined) {
        this.choose(next, false);
        this.focusNode(next);
      }
    } else if ((event.key === "Enter" || event.key === " ") && current) this.choose(current, true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The buttons below the drawing. `direction`: the direction of the drawing if it can be changed; `more` precedes the other buttons. */
  protected zoomControls(direction: Direction | undefined, more: unknown = nothing): TemplateResult {
    const other = direction === "down" ? "right" : "down";
    const turn = (): void => {
      this.dispatchEvent(new CustomEvent("clew-flow", { detail: other }));
    };
    const title = other === "right" ? "Draw from left to right" : "Draw from top to bottom";
    return zoomControls(this, html`${more} ${direction ? toolButton(other, title, turn) : nothing}`);
  }
}
