/** The zoom of the critical path's lanes, which are drawn wider than the window and scroll. */

/** How many times as wide as the room. */
const MOST = 256;
/** Of the room, between an edge and what is brought into sight. */
const MARGIN = 0.1;

export class PathZoom {
  factor = 1;
  private room: HTMLElement | undefined;

  /** `changed` redraws the lanes. */
  constructor(private readonly changed: () => void) {}

  /** Told of the element in which the lanes are scrolled. */
  readonly attach = (element: Element | undefined): void => {
    this.room = element instanceof HTMLElement ? element : undefined;
  };

  /** What is in the middle, or `x` pixels from the left edge, stays there. */
  zoomBy(by: number, x = (this.room?.clientWidth ?? 0) / 2): void {
    const factor = Math.min(Math.max(this.factor * by, 1), MOST);
    const { room } = this;
    const at = room ? (room.scrollLeft + x) / (room.clientWidth * this.factor) : 0;
    this.factor = factor;
    this.changed();
    if (room) this.scroll(at * room.clientWidth * factor - x);
  }

  fit(): void {
    this.zoomBy(0);
  }

  pan(by: number): void {
    if (this.room) this.scroll(this.room.scrollLeft + by * this.room.clientWidth);
  }

  /** Scrolls to an interval, in shares of the whole, if a part of it is out of sight. */
  reveal(from: number, to: number): void {
    const { room } = this;
    if (!room) return;
    const [whole, margin] = [room.clientWidth * this.factor, room.clientWidth * MARGIN];
    const [left, right] = [room.scrollLeft, room.scrollLeft + room.clientWidth];
    if (from * whole < left || to * whole > right) this.scroll(from * whole - margin);
  }

  /** The wheel with Ctrl, as a pinch on a touchpad comes; without, the page is scrolled. */
  wheel(event: WheelEvent): void {
    if (!event.ctrlKey || !this.room) return;
    event.preventDefault();
    this.zoomBy(Math.exp(-event.deltaY / 200), event.clientX - this.room.getBoundingClientRect().left);
  }

  /** As wide as it is about to be drawn, for before that there is nothing to scroll. */
  private scroll(left: number): void {
    const { room } = this;
    const wide = room?.firstElementChild;
    if (!room || !(wide instanceof HTMLElement)) return;
    wide.style.width = widthOf(this.factor);
    room.scrollLeft = left;
  }
}

export function widthOf(factor: number): string {
  return `${100 * factor}%`;
}
