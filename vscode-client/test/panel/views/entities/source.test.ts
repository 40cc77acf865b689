/** Facts about how a program that still runs is followed: often enough for who is told seldom, and no more than told for who is told of everything. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LiveEntities } from "../../../../src/panel/views/entities/model/source";

interface Growth {
  run: string;
  finished: boolean;
  pushed: boolean;
  unheard: string;
}

type Told = (growth: Omit<Growth, "unheard"> & Partial<Growth>) => void;

/** A source whose program is told of by `tell`, and the times in ms at which more was asked for since the last look. */
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

test("more is asked for right from the start, and after a notification, so often that nothing is late", async () => {
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

test("who is told of everything at once asks only then, and of other runs, of one that ended or was left nothing is asked", async () => {
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

test("once it is left nothing more is asked for", async () => {
  const { looks, end } = await followed();
  end();
  vi.advanceTimersByTime(5000);
  expect(looks()).toEqual([]);
});

test("where no relay is to be had it is asked twice a second, and why is known", async () => {
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
