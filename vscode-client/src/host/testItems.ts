/** Items of VS Code's Test Explorer. */

/**
 * The id of the test that a menu passes. Under pytest, the Python extension's id is the test's own after the path of the
 * workspace, so the server finds the test by it.
 */
export function testId(item: unknown): string | undefined {
  return typeof item === "object" && item !== null && "id" in item && typeof item.id === "string" ? item.id : undefined;
}
