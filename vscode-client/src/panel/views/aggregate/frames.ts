/** Frames around the contents of opened nodes, each connected to its node. */
import { NODE, type Nested, rectangle } from "./nestedLayout";
import type { Layout } from "../../graph/layout/types";
import type { NodeGroup } from "./model";
import { thousands } from "../../ui/text/format";
import type { DrawnFrame } from "../../graph/shapes";

export function drawnFrames(groups: readonly NodeGroup[], nested: Nested, layout: Layout): DrawnFrame[] {
  const nodes = new Map(layout.nodes.map((node) => [node.id, node]));
  return groups.flatMap((group): DrawnFrame[] => {
    const frame = nested.get(group.id);
    const anchor = nodes.get(group.anchor);
    if (!frame || !anchor) return [];
    const title = group.hidden > 0 ? `${group.title} · ${thousands(group.hidden)} more` : group.title;
    return [{ id: group.id, title, ...rectangle(frame), tie: [anchor.x + NODE.width / 2, anchor.y] }];
  });
}
