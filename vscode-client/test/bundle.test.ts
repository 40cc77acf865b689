/** The built panel: how much has to be loaded before the first view appears. */
import { readdirSync } from "node:fs";
import * as path from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { firstScript, panel } from "../bundle.mjs";
import { VIEWS } from "../src/panel/views/registry";

test("bundle's first script has at most 50 KB compressed and no drawing of a view", async () => {
  const { metafile, outputFiles } = await build({ ...panel, write: false });
  const contents = (name: string): Uint8Array => {
    const found = outputFiles.find((file) => file.path.endsWith(name));
    if (!found) throw new Error(`${name} was not built`);
    return found.contents;
  };
  expect(firstScript(metafile, contents)).toBeLessThanOrEqual(50_000);
  const main = Object.entries(metafile.outputs).find(([name]) => name.endsWith("/main.js"));
  const views = Object.keys(main?.[1].inputs ?? {}).filter((name) => name.includes("panel/views/"));
  expect(views.filter((name) => /\/(view|element)\.ts$|\/(draw|layout|layouts|paint|stage|ui)\//.test(name))).toEqual(
    [],
  );
  expect(views.filter((name) => name.endsWith("/manifest.ts"))).toHaveLength(VIEWS.length);
});

test("view registry lists every folder with a manifest", () => {
  const folder = path.join(import.meta.dirname, "../src/panel/views");
  const manifests = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith("manifest.ts"),
  );
  // "Contents" belongs to reports, which add it themselves.
  expect(manifests).toHaveLength(VIEWS.length + 1);
});
