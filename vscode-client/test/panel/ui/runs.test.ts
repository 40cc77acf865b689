/** The titles of runs in a picker. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runTitle } from "../../../src/panel/ui/runs";
import type { RunRef } from "../../../src/shared/protocol";

const MINUTE = 60_000;
const NOW = new Date(2026, 4, 5, 12).getTime();

const run = (more: Partial<RunRef>): RunRef =>
  ({ id: "one", name: "shop", finished: true, exitCode: 0, started: NOW, problems: [], ...more }) as RunRef;

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});

afterEach(() => {
  vi.useRealTimers();
});

test("runTitle of a live run has its running time, and of a finished run its exit code", () => {
  const said = (ago: number): string => runTitle(run({ finished: false, started: NOW - ago })).replace(/^.* · /, "");
  expect([0, 0.9, 1, 59, 60, 47 * 60 + 59, 48 * 60].map((minutes) => said(minutes * MINUTE))).toEqual([
    "running", "running", "running for 1 min", "running for 59 min", "running for 1 h", "running for 47 h",
    "running for 2 days",
  ]); // prettier-ignore
  expect(runTitle(run({}))).not.toContain("running");
  expect(runTitle(run({ exitCode: 3 }))).toContain(" · exit 3");
});
