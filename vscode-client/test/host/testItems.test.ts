/** The menu of VS Code's Test Explorer. */
import { expect, test } from "vitest";
import { testId } from "../../src/host/testItems";

test("testId() is the id of an item, and nothing for other values", () => {
  expect(testId({ id: "/shop/tests/test_cart.py::test_total", label: "test_total" })).toBe(
    "/shop/tests/test_cart.py::test_total",
  );
  for (const other of [undefined, null, "test", {}, { id: 3 }]) expect(testId(other)).toBeUndefined();
});
