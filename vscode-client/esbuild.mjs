/**
 * Builds the extension (dist/host) and the panel (dist/panel, copied to ../server/static for `clew view`).
 *
 *   node esbuild.mjs [--production] [--watch]
 */
import { cp, mkdir, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import * as path from "node:path";
import { build, context } from "esbuild";

const production = process.argv.includes("--production");
const watch = process.argv.includes("--watch");
const here = import.meta.dirname;
const panelFolder = path.join(here, "dist", "panel");
const serverFolder = path.join(here, "..", "server");

const common = { bundle: true, logLevel: "warning", minify: true, sourcemap: !production, legalComments: "none" };

const host = {
  ...common,
  entryPoints: [path.join(here, "src/host/extension.ts")],
  outfile: path.join(here, "dist/host/extension.js"),
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
};

/** Two files: the page's script and style, and the layout, which also runs as a worker and must need no other file. */
const panel = {
  ...common,
  entryPoints: { main: path.join(here, "src/panel/main.ts"), layout: path.join(here, "src/panel/layout/worker.ts") },
  outdir: panelFolder,
  platform: "browser",
  format: "esm",
  target: "chrome120",
  sourcemap: false,
  plugins: [{ name: "publish", setup: (setup) => setup.onEnd(publish) }],
};

/** The page beside the scripts, and all of it where the Python server finds it. */
async function publish(result) {
  if (result.errors.length > 0) return;
  await cp(path.join(here, "src/panel/index.html"), path.join(panelFolder, "index.html"));
  if (!existsSync(serverFolder)) return; // a copy of the client without the rest of the house
  const target = path.join(serverFolder, "static");
  await mkdir(target, { recursive: true });
  await cp(panelFolder, target, { recursive: true });
}

if (watch) {
  for (const options of [host, panel]) await (await context(options)).watch();
  console.log("watching");
} else {
  await rm(path.join(here, "dist"), { recursive: true, force: true });
  await rm(path.join(serverFolder, "static"), { recursive: true, force: true });
  await Promise.all([build(host), build(panel)]);
}
