/** `<clew-minimap>`: the whole drawing in a corner, with a rectangle for the visible part; a click moves there (`clew-goto`). */
import { LitElement, svg, html, nothing, type TemplateResult } from "lit";
import type { FlowDrawing } from "../layout/shapes";
import type { Point } from "../../../../graph/layout/types";
import type { Frame } from "../../../../graph/viewport";

const WIDTH = 116;
const HEIGHT = 72;

export class MinimapElement extends LitElement {
  static override properties = {
    drawing: { attribute: false },
    view: { attribute: false },
    look: { attribute: false },
  };

  declare drawing: FlowDrawing | undefined;
  /** What is seen, in the drawing's px. */
  declare view: Frame | undefined;
  /** The class of a node, by id. */
  declare look: (id: string) => string;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override render(): TemplateResult | typeof nothing {
    const { drawing, view } = this;
    if (!drawing || !view || holds(view, drawing.frame)) return nothing;
    const { x, y, width, height } = drawing.frame;
    const scale = Math.min(WIDTH / Math.max(width, 1), HEIGHT / Math.max(height, 1));
    const seen = common(view, drawing.frame);
    return html`<svg
      class="minimap"
      width=${Math.max(24, width * scale)}
      height=${Math.max(24, height * scale)}
      viewBox="${x} ${y} ${Math.max(width, 1)} ${Math.max(height, 1)}"
      preserveAspectRatio="none"
      aria-hidden="true"
      @pointerdown=${(event: PointerEvent) => {
        (event.currentTarget as Element).setPointerCapture(event.pointerId);
        this.go(event);
      }}
      @pointermove=${(event: PointerEvent) => {
        if (event.buttons > 0) this.go(event);
      }}
    >
      ${drawing.nodes.map(
        (node) =>
          svg`<rect class=${this.look(node.id)} x=${node.x - node.width / 2} y=${node.y - node.height / 2}
            width=${node.width} height=${node.height} />`,
      )}
      <rect class="seen" x=${seen.x} y=${seen.y} width=${seen.width} height=${seen.height} />
    </svg>`;
  }

  private go(event: PointerEvent): void {
    const target = event.currentTarget as SVGSVGElement;
    const { left, top, width, height } = target.getBoundingClientRect();
    const frame = this.drawing?.frame;
    if (!frame) return;
    const at: Point = [
      frame.x + ((event.clientX - left) / width) * frame.width,
      frame.y + ((event.clientY - top) / height) * frame.height,
    ];
    event.preventDefault();
    this.dispatchEvent(new CustomEvent("clew-goto", { detail: at }));
  }
}

customElements.define("clew-minimap", MinimapElement);

function holds(view: Frame, frame: Frame): boolean {
  return (
    view.x <= frame.x + 1 &&
    view.y <= frame.y + 1 &&
    view.x + view.width >= frame.x + frame.width - 1 &&
    view.y + view.height >= frame.y + frame.height - 1
  );
}

function common(a: Frame, b: Frame): Frame {
  const [x, y] = [Math.max(a.x, b.x), Math.max(a.y, b.y)];
  return {
    x,
    y,
    width: Math.max(0, Math.min(a.x + a.width, b.x + b.width) - x),
    height: Math.max(0, Math.min(a.y + a.height, b.y + b.height) - y),
  };
}
