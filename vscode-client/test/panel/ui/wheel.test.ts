import { describe, expect, it } from "vitest";
import { zoomFactor, wheelPixels } from "../../../src/panel/ui/wheel";

const [PIXELS, LINES] = [0, 1];

function event(deltaX: number, deltaY: number, deltaMode = PIXELS): WheelEvent {
  return { deltaX, deltaY, deltaMode, DOM_DELTA_PIXEL: PIXELS } as WheelEvent;
}

describe("wheel", () => {
  it("wheelPixels converts every unit of a browser to px", () => {
    expect(wheelPixels(event(2, 36))).toEqual({ x: 2, y: 36 });
    expect(wheelPixels(event(0, 2, LINES))).toEqual(wheelPixels(event(0, 36)));
  });

  it("zoomFactor away from the user zooms in, and back by the same factor", () => {
    expect(zoomFactor(event(0, -100))).toBeGreaterThan(1);
    expect(zoomFactor(event(0, -100)) * zoomFactor(event(0, 100))).toBeCloseTo(1);
    expect(zoomFactor(event(0, -100)) ** 2).toBeCloseTo(zoomFactor(event(0, -200)));
    expect(zoomFactor(event(7, 0))).toBe(1);
  });
});
