import { describe, expect, it } from "vitest";
import { brokenName, brokenPath } from "../../../../src/panel/ui/text/nameBreaks";

/** Returns the texts between possible line breaks. */
function pieces(parts: unknown[]): unknown[] {
  return parts.filter((part) => typeof part === "string");
}

describe("name breaks", () => {
  it("brokenName breaks after dots", () => {
    expect(pieces(brokenName("ChunkServer.process_batch"))).toEqual(["ChunkServer.", "process_batch"]);
  });

  it("brokenName breaks calls after brackets and commas, never inside a function name", () => {
    expect(pieces(brokenName("Node.call(Node.next_id, Connection.send)"))).toEqual([
      "Node.call(",
      "Node.next_id,",
      " Connection.send)",
    ]);
  });

  it("brokenPath breaks after slashes and keeps the line number whole", () => {
    expect(pieces(brokenPath("chunkstore/replication.py:59"))).toEqual(["chunkstore/", "replication.py:59"]);
    expect(pieces(brokenPath("app.py:1"))).toEqual(["app.py:1"]);
  });
});
