import { describe, expect, it } from "vitest";
import { progressText, progressTip, resultText, watchText, watchTip } from "../../src/host/recordingStatus";
import type { ProgressResult, Recordable, RunGrew, RunRef } from "../../src/shared/protocol";

const RUN: RunRef = {
  id: "20260101-120000-shop",
  name: "shop",
  started: 0,
  finished: false,
  exitCode: null,
  command: "python -m shop",
  commit: "",
  problems: [],
};
const WHAT: Recordable = {
  name: "shop",
  detail: "python -m shop",
  kind: "package",
  command: ["python", "-m", "shop"],
  cwd: "/shop",
  environment: [],
};
const NOW: ProgressResult = {
  run: RUN,
  elapsedNs: 12.9e9,
  bytes: 3_400_000,
  processes: 2,
  looked: true,
  events: 120_000,
  errors: 1,
  warnings: 0,
  slowest: "shop.store:look_up",
  slowestNs: 5e9,
};

describe("recording status", () => {
  it("progressText of a run that has not begun is starting", () => {
    expect(progressText(undefined)).toBe("starting");
    expect(progressText({ ...NOW, run: null })).toBe("starting");
  });

  it("progressText has time, size, events and errors", () => {
    expect(progressText(NOW)).toBe("12 s · 3.4 MB · 120,000 events · 1 error");
    expect(progressText({ ...NOW, elapsedNs: 61e9, bytes: 999, looked: false })).toBe("1 min 1 s · 999 B");
  });

  it("progressTip has the slowest function and how to stop", () => {
    const lines = progressTip(WHAT, NOW, 2).split("\n");
    expect(lines).toContain("2 processes, 3.4 MB on disk");
    expect(lines).toContain("120,000 events, 9,302 per second");
    expect(lines).toContain("most time in shop.store:look_up");
    expect(lines).toContain("and 1 more recording");
    expect(lines.at(-1)).toBe("Click to stop.");
  });

  it("resultText names how the program ended", () => {
    expect(resultText(WHAT, RUN, 0)).toBe("clew: shop ended; recorded as 20260101-120000-shop.");
    expect(resultText(WHAT, RUN, 3)).toContain("ended with exit code 3");
    expect(resultText(WHAT, RUN, undefined)).toContain("was stopped");
  });
});

describe("watch status", () => {
  const GROWTH: RunGrew = {
    run: "20260101-120000-shop",
    name: "shop",
    elapsedNs: 72e9,
    processes: 2,
    events: 12345,
    calls: 6000,
    errors: 1,
    finished: false,
    pushed: false,
    unheard: "",
  };

  it("watchText counts the events", () => {
    expect(watchText("shop", GROWTH)).toBe("● watching shop, 12,345 events");
    expect(watchText("shop")).toBe("● watching shop");
  });

  it("watchTip has time, processes, calls and errors", () => {
    expect(watchTip("shop", GROWTH)).toContain("1 min 12 s, 2 processes\n6,000 calls, 1 error logged");
    expect(watchTip("shop")).toMatch(/^Watching shop/);
  });
});
