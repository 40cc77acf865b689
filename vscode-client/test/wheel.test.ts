import { describe, expect, it } from "vitest";
import { closerBy, turned } from "../src/panel/draw/wheel";

const [PIXELS, LINES] = [0, 1];

function event(deltaX: number, deltaY: number, deltaMode = PIXELS): WheelEvent {
  return { deltaX, deltaY, deltaMode, DOM_DELTA_PIXEL: PIXELS } as WheelEvent;
}

describe("a turn of the wheel", () => {
  it("is told in px, in whatever a browser counts", () => {
    expect(turned(event(2, 36))).toEqual({ x: 2, y: 36 });
    expect(turned(event(0, 2, LINES))).toEqual(turned(event(0, 36)));
  });

  it("away from the user leads closer, and back again as far", () => {
    expect(closerBy(event(0, -100))).toBeGreaterThan(1);
    expect(closerBy(event(0, -100)) * closerBy(event(0, 100))).toBeCloseTo(1);
    expect(closerBy(event(0, -100)) ** 2).toBeCloseTo(closerBy(event(0, -200)));
    expect(closerBy(event(7, 0))).toBe(1);
  });
});
