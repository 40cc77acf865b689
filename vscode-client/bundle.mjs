/** What esbuild makes of the panel, and how large the part of it is that has to be there before anything is seen. */
import * as path from "node:path";
import { gzipSync } from "node:zlib";

const here = import.meta.dirname;

export const common = { bundle: true, logLevel: "warning", minify: true, legalComments: "none" };

const browser = { ...common, platform: "browser", format: "esm", target: "chrome120", sourcemap: false };

/** The first script with the page's style, and a chunk for each view and what several of them share, loaded on first use. */
export const panel = {
  ...browser,
  entryPoints: { main: path.join(here, "src/panel/main.ts") },
  outdir: path.join(here, "dist/panel"),
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  metafile: true,
};

/** The layout also runs as a worker and must need no other file. */
export const layout = {
  ...browser,
  entryPoints: { layout: path.join(here, "src/panel/graph/layout/worker.ts") },
  outdir: path.join(here, "dist/panel"),
};

/** The panel of a report, all in one file that is put into a page. */
export const report = {
  ...browser,
  entryPoints: { report: path.join(here, "src/panel/report/main.ts") },
  loader: { ".css": "empty" }, // a report takes the panel's style sheet
  outdir: path.join(here, "dist/panel"),
};

/** Bytes, compressed, of the first script and all that it imports at once. `contents`: the text of an output by its name. */
export function firstScript(metafile, contents) {
  const outputs = metafile.outputs;
  const main = Object.keys(outputs).find((name) => name.endsWith("/main.js"));
  const needed = new Set();
  const pending = [main];
  while (pending.length > 0) {
    const name = pending.pop();
    if (needed.has(name)) continue;
    needed.add(name);
    for (const one of outputs[name].imports) if (one.kind === "import-statement") pending.push(one.path);
  }
  return [...needed].reduce((sum, name) => sum + gzipSync(contents(name)).length, 0);
}
