/** Frames around what is in opened boxes, each tied to the box that was opened. */
import { BOX, type Nested, rectangle } from "../layout/nested";
import type { Layout } from "../layout/types";
import type { BoxGroup } from "../model/aggregate";
import { thousands } from "../model/format";
import type { DrawnFrame } from "./shapes";

export function framesOf(groups: readonly BoxGroup[], nested: Nested, layout: Layout): DrawnFrame[] {
  const boxes = new Map(layout.boxes.map((box) => [box.id, box]));
  return groups.flatMap((group): DrawnFrame[] => {
    const frame = nested.get(group.id);
    const anchor = boxes.get(group.anchor);
    if (!frame || !anchor) return [];
    const title = group.hidden > 0 ? `${group.title} · ${thousands(group.hidden)} more` : group.title;
    return [{ id: group.id, title, ...rectangle(frame), tie: [anchor.x + BOX.width / 2, anchor.y] }];
  });
}
