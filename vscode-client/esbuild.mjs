/**
 * Builds the extension (dist/host) and the panel (dist/panel, copied to ../server/static for `clew view`).
 *
 *   node esbuild.mjs [--production] [--watch]
 */
import { cp, mkdir, rm } from "node:fs/promises";
import { existsSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { build, context } from "esbuild";
import { common, firstScript, layout, panel, report } from "./bundle.mjs";

const production = process.argv.includes("--production");
const watch = process.argv.includes("--watch");
const here = import.meta.dirname;
const serverFolder = path.join(here, "..", "server");

const host = {
  ...common,
  entryPoints: [path.join(here, "src/host/extension.ts")],
  outfile: path.join(here, "dist/host/extension.js"),
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
  sourcemap: !production,
};

const published = (options) => ({
  ...options,
  plugins: [{ name: "publish", setup: (setup) => setup.onEnd(publish) }],
});

/** The page beside the scripts, and all of it where the Python server finds it. */
async function publish(result) {
  if (result.errors.length > 0) return;
  await cp(path.join(here, "src/panel/index.html"), path.join(panel.outdir, "index.html"));
  if (!existsSync(serverFolder)) return; // a copy of the client without the rest of the house
  const target = path.join(serverFolder, "static");
  await mkdir(target, { recursive: true });
  await cp(panel.outdir, target, { recursive: true });
}

if (watch) {
  for (const options of [host, published(layout), published(report), published(panel)])
    await (await context(options)).watch();
  console.log("watching");
} else {
  await rm(path.join(here, "dist"), { recursive: true, force: true });
  await rm(path.join(serverFolder, "static"), { recursive: true, force: true });
  await Promise.all([build(host), build(layout), build(report)]);
  const { metafile } = await build(published(panel));
  const bytes = firstScript(metafile, (name) => readFileSync(path.resolve(name)));
  console.log(`the panel's first script: ${(bytes / 1000).toFixed(1)} KB compressed`);
}
