/** Arrow keys in a tree of calls: to the caller, the first callee, or the next sibling. */
import type { Flow as Direction } from "../../../../graph/layout/types";
import type { Flow } from "./flow";
import type { Arrow } from "../../../../graph/navigation";

/** The call to go to, or undefined where there is none in that direction. Calls that are not `visible` are passed by. */
export function flowStep(
  flow: Flow,
  direction: Direction,
  from: string,
  key: Arrow,
  visible: (id: string) => boolean,
): string | undefined {
  const [forward, back, next] =
    direction === "down" ? ["ArrowDown", "ArrowUp", "ArrowRight"] : ["ArrowRight", "ArrowLeft", "ArrowDown"];
  if (key === forward) return firstBelow(flow, from, visible);
  if (key === back) return nearestAbove(flow, from, visible);
  const order = flow.calls.filter((call) => visible(call.id)).map((call) => call.id);
  const depths = new Map<string, number>();
  for (const call of flow.calls) depths.set(call.id, (depths.get(call.parent) ?? -1) + 1);
  // The nearest as deep, or less deep where that branch ends earlier.
  const at = order.indexOf(from);
  const beside = key === next ? order.slice(at + 1) : order.slice(0, Math.max(at, 0)).reverse();
  return beside.find((id) => (depths.get(id) ?? 0) === (depths.get(from) ?? 0));
}

function firstBelow(flow: Flow, id: string, visible: (id: string) => boolean): string | undefined {
  for (const child of flow.children.get(id) ?? []) {
    const found = visible(child.id) ? child.id : firstBelow(flow, child.id, visible);
    if (found !== undefined) return found;
  }
  return undefined;
}

function nearestAbove(flow: Flow, id: string, visible: (id: string) => boolean): string | undefined {
  let up = flow.byId.get(flow.byId.get(id)?.parent ?? "");
  while (up && !visible(up.id)) up = flow.byId.get(up.parent);
  return up?.id;
}
