import { describe, expect, it } from "vitest";
import { Newest } from "../../src/shared/newest";

describe("Newest", () => {
  it("of() resolves only the newest answer, in any order of arrival", async () => {
    for (const order of [
      [0, 1, 2],
      [2, 0, 1],
      [1, 2, 0],
    ]) {
      const newest = new Newest();
      const answers: ((value: number) => void)[] = [];
      const asked = [0, 1, 2].map((number) => newest.of(new Promise<number>((answer) => (answers[number] = answer))));
      for (const number of order) answers[number]?.(number);
      expect(await Promise.all(asked)).toEqual([undefined, undefined, 2]);
    }
  });

  it("of() rejects only for the newest request", async () => {
    const newest = new Newest();
    const early = newest.of(Promise.reject(new Error("early")));
    const late = newest.of(Promise.reject(new Error("late")));
    await expect(early).resolves.toBeUndefined();
    await expect(late).rejects.toThrow("late");
  });

  it("begin() makes earlier beginnings outdated, and so does forget()", () => {
    const newest = new Newest();
    const early = newest.begin();
    expect(early()).toBe(true);
    const late = newest.begin();
    expect([early(), late()]).toEqual([false, true]);
    newest.forget();
    expect([early(), late()]).toEqual([false, false]);
  });

  it("of() resolves to undefined after forget()", async () => {
    const newest = new Newest();
    const forgotten = newest.of(Promise.resolve(1));
    newest.forget();
    expect(await forgotten).toBeUndefined();
  });
});
