/** The picture of a state's history: where writes are, and what marks the write in question and a race. */
import { expect, test } from "vitest";
import type { HistoryResult, StateWrite } from "../../../../src/shared/protocol";
import { drawHistory, type HistoryActions } from "../../../../src/panel/views/value/history";
import { historyPicture, usualSpacing } from "../../../../src/panel/views/value/historyModel";
import { RUN } from "../../../support/samples";
import { texts } from "../../../support/templates";

const ignore = (): void => undefined;
const act: HistoryActions = {
  workspace: "/shop",
  spacing: "time",
  selected: -1,
  select: ignore,
  reveal: ignore,
  setSpacing: ignore,
  skip: ignore,
  state: ignore,
};

function write(timeNs: number, lane: number, more: Partial<StateWrite> = {}): StateWrite {
  return {
    event: timeNs,
    timeNs,
    lane,
    state: "Cart.discount",
    change: `= ${timeNs}`,
    by: "Cart.apply_coupon",
    object: 0,
    isMarked: false,
    race: "",
    location: { path: "/shop/cart.py", line: 7, endLine: 0 },
    ...more,
  };
}

function history(writes: StateWrite[], more: Partial<HistoryResult> = {}): HistoryResult {
  const lane = { writer: "Cart.apply_coupon", caller: "marketing", who: "campaign", request: "", writes: 1 };
  return {
    run: RUN,
    state: "Cart.discount",
    lanes: [lane, { ...lane, caller: "checkout", who: "MainThread" }],
    writes,
    hiddenWrites: 0,
    laterWrites: 0,
    objects: 0,
    readNs: null,
    reader: "",
    others: [],
    notes: [],
    last: null,
    message: "",
    command: "",
    ...more,
  };
}

test("historyPicture() places writes by time in the lane of their writer, with the read among them", () => {
  const picture = historyPicture(history([write(100, 0), write(150, 1), write(300, 0)], { readNs: 200 }), "time");
  expect(picture.lanes.map((lane) => lane.map(({ at, number }) => [number, at]))).toEqual([
    [
      [0, 0],
      [2, 1],
    ],
    [[1, 0.25]],
  ]);
  expect(picture.readAt).toBe(0.5);
  expect([picture.fromNs, picture.toNs]).toEqual([100, 300]);
});

test("historyPicture() in order gives each write and the read the same room", () => {
  const picture = historyPicture(history([write(1, 0), write(2, 0), write(900, 0)], { readNs: 3 }), "order");
  expect(picture.lanes[0]?.map(({ at }) => at)).toEqual([0.125, 0.375, 0.875]);
  expect(picture.readAt).toBe(0.625);
});

test("historyPicture() of one write puts it into the middle", () => {
  expect(historyPicture(history([write(7, 0)]), "time").lanes[0]?.[0]?.at).toBe(0.5);
});

test("historyPicture() labels a write only if the next one in its lane is far enough", () => {
  const picture = historyPicture(history([write(0, 0), write(5, 0), write(100, 0), write(1, 1)]), "time");
  expect(picture.lanes.map((lane) => lane.map(({ hasLabel }) => hasLabel))).toEqual([[false, true, true], [true]]);
});

test("usualSpacing() is by time unless most writes would cover one another", () => {
  expect(usualSpacing(history([write(0, 0), write(50, 0), write(100, 0)]))).toBe("time");
  expect(usualSpacing(history([write(0, 0), write(1, 0), write(2, 0), write(1000, 0)]))).toBe("order");
  expect(usualSpacing(history([]))).toBe("time");
});

test("drawHistory() has words for the write in question and for a race", () => {
  const race = "Nothing recorded orders this write and the read, so it is a race.";
  const drawn = texts(
    drawHistory(
      history([write(1, 0), write(2, 1, { isMarked: true, race })], { readNs: 3, reader: "Cart.total" }),
      act,
    ),
  );
  expect(drawn).toContain("read by Cart.total");
  expect(drawn).toContain(race);
  expect(drawn.filter((text) => text.startsWith("write marked race"))).toHaveLength(1);
});

test("drawHistory() counts the writes that were left out, and links other states", () => {
  const drawn = texts(
    drawHistory(history([write(1, 0)], { hiddenWrites: 5, laterWrites: 2, others: ["Cart.items"] }), act),
  );
  expect(drawn).toContain("3 earlier writes");
  expect(drawn).toContain("2 later writes");
  expect(drawn).toContain("Cart.items");
});

test("drawHistory() without writes says why, and how to record them", () => {
  const command = "clew run --writes -- python app.py";
  const drawn = texts(drawHistory(history([], { message: "Run plain recorded no writes.", command }), act));
  expect(drawn).toContain("Run plain recorded no writes.");
  expect(drawn).toContain(command);
});
