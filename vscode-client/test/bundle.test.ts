/** The panel as it is built: how much has to be loaded before anything is seen. */
import { build } from "esbuild";
import { expect, test } from "vitest";
import { firstScript, panel } from "../bundle.mjs";

test("the first script has at most 50 KB compressed, and no view's drawing in it", async () => {
  const { metafile, outputFiles } = await build({ ...panel, write: false });
  const contents = (name: string): Uint8Array => {
    const found = outputFiles.find((file) => file.path.endsWith(name));
    if (!found) throw new Error(`${name} was not built`);
    return found.contents;
  };
  expect(firstScript(metafile, contents)).toBeLessThanOrEqual(50_000);
  const main = Object.entries(metafile.outputs).find(([name]) => name.endsWith("/main.js"));
  expect(Object.keys(main?.[1].inputs ?? {}).filter((name) => name.includes("panel/views/"))).toEqual([
    "src/panel/views/view.ts",
  ]);
});
