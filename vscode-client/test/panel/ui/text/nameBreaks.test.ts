import { describe, expect, it } from "vitest";
import { brokenName, brokenPath } from "../../../../src/panel/ui/text/nameBreaks";

/** What stands between two places where a line may break. */
function pieces(parts: unknown[]): unknown[] {
  return parts.filter((part) => typeof part === "string");
}

describe("long names break", () => {
  it("behind dots", () => {
    expect(pieces(brokenName("ChunkServer.process_batch"))).toEqual(["ChunkServer.", "process_batch"]);
  });

  it("of calls in brackets behind those and commas, and never within a function's name", () => {
    expect(pieces(brokenName("Node.call(Node.next_id, Connection.send)"))).toEqual([
      "Node.call(",
      "Node.next_id,",
      " Connection.send)",
    ]);
  });

  it("of files behind slashes, so that a line's number stays whole", () => {
    expect(pieces(brokenPath("chunkstore/replication.py:59"))).toEqual(["chunkstore/", "replication.py:59"]);
    expect(pieces(brokenPath("app.py:1"))).toEqual(["app.py:1"]);
  });
});
