/** Following a live run: the source polls often if notifications are rare, and only after pushes if a relay sends them. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LiveEntities } from "../../../../src/panel/views/entities/model/source";

interface Growth {
  run: string;
  finished: boolean;
  pushed: boolean;
  unheard: string;
}

type Told = (growth: Omit<Growth, "unheard"> & Partial<Growth>) => void;

/** Makes a source; `tell` sends a notification, and `looks` returns the times in ms of the requests since its last call. */
async function followed(): Promise<{ tell: Told; looks: () => number[]; end: () => void; source: LiveEntities }> {
  let tell: Told = () => undefined;
  const context = {
    request: () => Promise.resolve({ run: { id: "run" } }),
    followRuns: (told: Told) => {
      tell = told;
      return () => undefined;
    },
  };
  const source = new LiveEntities(context as never, {});
  await source.state("end");
  let found: number[] = [];
  const end = source.follow(() => found.push(Date.now()));
  const looks = (): number[] => {
    const seen = found;
    found = [];
    return seen;
  };
  return { tell: (growth) => { tell({ unheard: "", ...growth }); }, looks, end, source }; // prettier-ignore
}

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});

afterEach(() => {
  vi.useRealTimers();
});

const within = (times: readonly number[], ms: number): boolean =>
  times.every((at, index) => at - (times[index - 1] ?? 0) < ms);

test("live source polls from the start and after a notification", async () => {
  const { tell, looks } = await followed();
  vi.advanceTimersByTime(850);
  const first = looks();
  expect(first.at(-1)).toBeGreaterThan(700);
  expect(within(first, 150)).toBe(true);
  vi.setSystemTime(0);
  tell({ run: "run", finished: false, pushed: false });
  vi.advanceTimersByTime(850);
  const next = looks();
  expect(next[0]).toBe(0);
  expect(within(next, 150)).toBe(true);
});

test("live source with pushes requests only after a push, and not for other or finished runs", async () => {
  const { tell, looks, end } = await followed();
  tell({ run: "other", finished: false, pushed: true });
  expect(looks()).toEqual([]);
  tell({ run: "run", finished: false, pushed: true });
  expect(looks()).toHaveLength(1);
  vi.advanceTimersByTime(5000);
  expect(looks()).toEqual([]);
  tell({ run: "run", finished: true, pushed: false });
  expect(looks()).toHaveLength(1);
  vi.advanceTimersByTime(5000);
  end();
  vi.advanceTimersByTime(5000);
  expect(looks()).toEqual([]);
});

test("live source stops polling after its end", async () => {
  const { looks, end } = await followed();
  end();
  vi.advanceTimersByTime(5000);
  expect(looks()).toEqual([]);
});

test("live source without relay polls twice a second and has the reason", async () => {
  const { tell, looks, end, source } = await followed();
  vi.advanceTimersByTime(1000);
  looks();
  for (let second = 0; second < 3; second += 1) {
    tell({ run: "run", finished: false, pushed: false, unheard: "relays are disabled" });
    vi.advanceTimersByTime(1000);
    expect(looks()).toHaveLength(2);
  }
  expect(source.unheard).toBe("relays are disabled");
  tell({ run: "run", finished: false, pushed: true });
  expect(source.unheard).toBe("");
  end();
});
