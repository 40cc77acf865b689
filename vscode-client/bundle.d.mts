import type { BuildOptions, Metafile } from "esbuild";

export const panel: BuildOptions & { metafile: true; write?: false };
export function firstScript(metafile: Metafile, contents: (name: string) => Uint8Array): number;
