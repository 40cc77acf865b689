/** Tables copied as CSV. */
import { expect, test } from "vitest";
import { csv } from "../../../../src/panel/app/copy/csv";

test.each([
  [["a", "b"], "a,b\r\n"],
  [["1,234 calls", 'say "x"'], '"1,234 calls","say ""x"""\r\n'],
  [["two\n  lines", ""], "two lines,\r\n"],
  [["=1+1", "@x", "-cmd", "+2.1 ms", "−2 µs", "-5"], "'=1+1,'@x,'-cmd,+2.1 ms,−2 µs,-5\r\n"],
])("csv of the row %j is %j", (row, text) => {
  expect(csv([row])).toBe(text);
});

test("csv has a line per row", () => {
  expect(csv([["a"], ["b"]])).toBe("a\r\nb\r\n");
});
