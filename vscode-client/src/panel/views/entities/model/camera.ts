/**
 * The visible part of a picture around (0, 0): zoomed at a point, moved, or all of it.
 *
 * Invariant: the whole picture is visible at any window size until the user moves it.
 */
import type { Spot } from "../layouts/types";

const [SMALLEST, LARGEST] = [0.2, 40];
const MARGIN = 26;

export class Camera {
  width = 1;
  height = 1;
  private zoom = 1;
  /** Of the window's middle, in the picture's px. */
  private x = 0;
  private y = 0;

  constructor(private readonly radius: number) {}

  get moved(): boolean {
    return this.zoom !== 1 || this.x !== 0 || this.y !== 0;
  }

  /** Px of the screen for each of the picture. */
  get scale(): number {
    const room = Math.max(40, Math.min(this.width, this.height) / 2 - MARGIN);
    return (room / this.radius) * this.zoom;
  }

  fit(): void {
    [this.zoom, this.x, this.y] = [1, 0, 0];
  }

  pan(dx: number, dy: number): void {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
  }

  /** What is at a point of the screen stays there. */
  zoomAt(factor: number, at: Spot = { x: this.width / 2, y: this.height / 2 }): void {
    const before = this.picture(at);
    this.zoom = Math.min(LARGEST, Math.max(SMALLEST, this.zoom * factor));
    const after = this.picture(at);
    this.x += before.x - after.x;
    this.y += before.y - after.y;
  }

  /** Moves just so far that a point of the picture is seen. */
  show(spot: Spot): void {
    const { x, y } = this.screen(spot);
    if (x < MARGIN || x > this.width - MARGIN || y < MARGIN || y > this.height - MARGIN)
      [this.x, this.y] = [spot.x, spot.y];
  }

  screen({ x, y }: Spot): Spot {
    const { scale } = this;
    return { x: this.width / 2 + (x - this.x) * scale, y: this.height / 2 + (y - this.y) * scale };
  }

  picture({ x, y }: Spot): Spot {
    const { scale } = this;
    return { x: (x - this.width / 2) / scale + this.x, y: (y - this.height / 2) / scale + this.y };
  }
}
