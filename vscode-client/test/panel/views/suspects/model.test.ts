/** Suspects as rows: places, scores and the numbers of each evidence. */
import { describe, expect, test } from "vitest";
import {
  bits,
  evidenceNumbers,
  filterSuspects,
  placeName,
  samples,
  suspectLines,
} from "../../../../src/panel/views/suspects/model";
import type { LocalizeEvidence, LocalizeSuspect } from "../../../../src/shared/protocol";

function evidence(more: Partial<LocalizeEvidence> = {}): LocalizeEvidence {
  return {
    kind: "work",
    bits: 2,
    sentence: "it takes longer",
    service: "orders",
    method: "app.orders:Orders.place",
    caller: "",
    instance: "",
    text: "",
    before: 1e6,
    after: 4e6,
    samplesBefore: 1200,
    samplesAfter: 30,
    p: 1e-6,
    run: "r",
    event: 7,
    fromNs: 1000,
    toNs: 3000,
    location: null,
    ...more,
  };
}

function suspect(rank: number, score: number, more: Partial<LocalizeSuspect> = {}): LocalizeSuspect {
  return {
    rank,
    place: "orders",
    score,
    kind: "method",
    sentence: "",
    service: "orders",
    method: "app.orders:Orders.place",
    caller: "",
    instance: "",
    sinceNs: null,
    evidence: [evidence()],
    location: null,
    ...more,
  };
}

describe("suspect rows", () => {
  test("are on the scale of the first suspect, with the strongest evidence", () => {
    const [first, second] = suspectLines([
      suspect(1, 8),
      suspect(2, 2, { evidence: [evidence({ kind: "log", p: null })] }),
    ]);
    expect([first?.title, first?.share, first?.score, first?.word, first?.numbers, first?.sure]).toEqual([
      "Orders.place",
      1,
      "8.0 bits",
      "self time",
      "1 ms → 4 ms",
      "p < 0.001",
    ]);
    expect([second?.share, second?.word, second?.sure]).toEqual([0.25, "log messages", ""]);
  });

  test("name their place if it adds information", () => {
    const [all, bare] = suspectLines([
      suspect(1, 1, { caller: "app.web:serve", instance: "orders-2" }),
      suspect(2, 1, { method: "", evidence: [] }),
    ]);
    expect(all?.where).toBe("orders · from web.serve · on orders-2");
    expect([bare?.title, bare?.where, bare?.word, bare?.numbers]).toEqual(["orders", "", "", ""]);
  });

  test("filter matches every word in places and evidence", () => {
    const rows = [suspect(1, 2), suspect(2, 1, { evidence: [evidence({ text: "Connection refused" })] })];
    expect(filterSuspects(rows, "orders REFUSED")).toEqual(rows.slice(1));
    expect(filterSuspects(rows, "")).toEqual(rows);
    expect(filterSuspects(rows, "nobody")).toEqual([]);
  });
});

test("evidenceNumbers are times, or shares of visits", () => {
  expect(evidenceNumbers(evidence({ kind: "edge", before: null }))).toBe("– → 4 ms");
  expect(evidenceNumbers(evidence({ kind: "error", before: 0.02, after: 0.4 }))).toBe("2 % → 40 %");
  expect(evidenceNumbers(evidence({ kind: "call", before: null, after: null }))).toBe("");
  expect(samples(evidence())).toBe("1,200 and 30 requests");
});

test("bits and placeName are short", () => {
  expect([0.04, 2.25, 9.96, 1234.5].map(bits)).toEqual(["0.0 bits", "2.3 bits", "10 bits", "1,235 bits"]);
  expect(placeName(suspect(1, 1, { method: "GET /orders" }))).toBe("GET /orders");
});
