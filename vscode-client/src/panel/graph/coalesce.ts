/**
 * Merges nodes of one module and process until a graph is small enough to lay out.
 *
 * Invariant: no node is lost: each node is in the result or among the members of one of its nodes, and counts add up. The root, the
 * chain and the nodes that the user opened stay separate.
 */
import { groupBy } from "../../shared/group";
import { count } from "../ui/text/format";
import { compare, makeGraph, type PanelEdge, type PanelGraph, type PanelNode } from "./model";

export const LAYOUT_LIMIT = 500;

export function coalesce(graph: PanelGraph, limit: number, opened: ReadonlySet<string> = new Set()): PanelGraph {
  if (graph.nodes.length <= limit) return graph;
  const groups = groupBy(
    graph.nodes.filter((node) => !node.root && !node.onChain && !opened.has(groupId(node))),
    groupId,
  );
  const byGain = [...groups].sort(([a, x], [b, y]) => y.length - x.length || compare(a, b));
  const groupOf = new Map<string, string>();
  let remaining = graph.nodes.length;
  for (const [id, members] of byGain) {
    if (remaining <= limit || members.length < 2) break;
    for (const member of members) groupOf.set(member.id, id);
    remaining -= members.length - 1;
  }
  // What the user opened is closed again before the layout gets more than it can take.
  if (remaining > limit && opened.size > 0) return coalesce(graph, limit);
  return merge(graph, groupOf);
}

function groupId(node: PanelNode): string {
  return `group:${moduleOf(node)}@${node.process}`;
}

function moduleOf(node: PanelNode): string {
  const module = /^([\w.<>-]+):(?=[\w<])/.exec(node.label)?.[1];
  return module ?? node.location?.path ?? node.kind;
}

function merge(graph: PanelGraph, groupOf: ReadonlyMap<string, string>): PanelGraph {
  const nodes = new Map<string, PanelNode>();
  for (const node of graph.nodes) {
    const id = groupOf.get(node.id);
    if (id === undefined) nodes.set(node.id, node);
    else {
      const known = nodes.get(id);
      const members = [...(known?.members ?? []), node.id];
      const name = moduleOf(node);
      nodes.set(id, {
        ...node,
        id,
        label: name,
        name,
        kind: "group",
        meta: [graph.processes.get(node.process), count(members.length, "function")].filter(Boolean).join(" · "),
        detail: "Grouped because there are too many nodes to lay out. Press Enter to ungroup.",
        location: null,
        firstEvent: -1,
        members,
        deltaNs: (known?.deltaNs ?? 0) + node.deltaNs,
        status: known && known.status !== node.status ? "both" : node.status,
        onCriticalPath: (known?.onCriticalPath ?? false) || node.onCriticalPath,
        facts: [{ name: "Holds", value: count(members.length, "function") }],
        gaps: [...new Set([...(known?.gaps ?? []), ...node.gaps])],
        gapSpans: known?.gapSpans.length ? known.gapSpans : node.gapSpans,
      });
    }
  }
  const edges = new Map<string, PanelEdge>();
  for (const edge of graph.edges) {
    const source = groupOf.get(edge.source) ?? edge.source;
    const target = groupOf.get(edge.target) ?? edge.target;
    if (source === target && edge.source !== edge.target) continue; // inside one group
    const untouched = source === edge.source && target === edge.target;
    const id = untouched ? edge.id : `${source}→${target}#${edge.kind}#${edge.channel}`;
    const known = edges.get(id);
    edges.set(id, {
      ...edge,
      id,
      source,
      target,
      count: (known?.count ?? 0) + edge.count,
      latencyNs: (known?.latencyNs ?? 0) + edge.latencyNs,
      onChain: (known?.onChain ?? false) || edge.onChain,
      onCriticalPath: (known?.onCriticalPath ?? false) || edge.onCriticalPath,
      status: known && known.status !== edge.status ? "both" : edge.status,
      clock: known && known.clock !== "" ? known.clock : edge.clock,
      uncertain: (known?.uncertain ?? false) || edge.uncertain,
      gaps: [...new Set([...(known?.gaps ?? []), ...edge.gaps])],
    });
  }
  return makeGraph([...nodes.values()], [...edges.values()], graph.processes);
}
