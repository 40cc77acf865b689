/** The list of the panel's views: a new view needs its own folder and a line here. */
import { manifest as aggregate } from "./aggregate/manifest";
import type { ViewManifest } from "./contract";
import { manifest as criticalPath } from "./criticalPath/manifest";
import { manifest as entities } from "./entities/manifest";
import { manifest as functions } from "./functions/manifest";
import { manifest as guide } from "./guide/manifest";
import { manifest as patterns } from "./patterns/manifest";
import { manifest as requests } from "./requests/manifest";
import { manifest as slice } from "./slice/manifest";
import { manifest as suspects } from "./suspects/manifest";
import { manifest as timeline } from "./timeline/manifest";
import { manifest as value } from "./value/manifest";
import { manifest as walk } from "./walk/manifest";

/** In the order of their tabs. The panel shows the first view if the address names no view. */
export const VIEWS: readonly ViewManifest[] = [
  slice,
  value,
  walk,
  criticalPath,
  aggregate,
  functions,
  requests,
  suspects,
  patterns,
  guide,
  timeline,
  entities,
];

/** The views of one panel: the shipped ones, or those of a report, and the custom views of the workspace. */
export class ViewRegistry {
  private readonly views: ViewManifest[];

  constructor(views: readonly ViewManifest[] = VIEWS) {
    this.views = [...views];
  }

  /** In the order of their tabs. */
  get all(): readonly ViewManifest[] {
    return this.views;
  }

  find(name: string): ViewManifest | undefined {
    return this.views.find((view) => view.name === name);
  }

  add(view: ViewManifest): void {
    this.views.push(view);
  }
}
