/** Draws edges, nodes and labels as SVG. The functions are stateless. */
import { nothing, svg, type SVGTemplateResult } from "lit";
import { labelPlace } from "./layout/curve";
import { type Label, separateLabels } from "./layout/labels";
import type { Layout, PlacedNode } from "./layout/types";
import { count, duration, elide } from "../ui/text/format";
import type { PanelEdge, PanelGraph, PanelNode } from "./model";
import {
  NODE_HEIGHT,
  edgeLabel,
  LABEL_HEIGHT,
  labelWidth,
  type Measure,
  PADDING_LEFT,
  PADDING_RIGHT,
  tag,
  tagWidth,
} from "./sizes";

/** The state that all shapes depend on. */
export interface Look {
  selected: ReadonlySet<string>;
  found: ReadonlySet<string>;
  colours: ReadonlyMap<string, number>;
  showPath: boolean;
  measure: Measure;
}

export interface GraphNodeActions {
  choose(id: string): void;
  focus(id: string): void;
}

export const ARROW_HEADS = ["plain", "chain", "path", "before", "after", "near"] as const;
const LONGEST_LABEL = 190;
/** Steps of width and of colour that the style sheet has. */
const WIDTHS = 6;
const HEATS = 8;
/** Of a gap from the node's sides: the stripe, and the round corners. */
const GAP_INSET = 7;

/** What is drawn later, over the others, has the higher number. */
export function rank(edge: PanelEdge, look: Look): number {
  return (edge.onChain ? 4 : 0) + (edge.onCriticalPath ? 2 : 0) + (isNear(edge, look) ? 1 : 0);
}

function isNear(edge: PanelEdge, { selected }: Look): boolean {
  return selected.has(edge.source) || selected.has(edge.target);
}

export function drawEdge(edge: PanelEdge, path: string, look: Look): SVGTemplateResult {
  const near = isNear(edge, look);
  const onPath = look.showPath && edge.onCriticalPath;
  const head =
    edge.status === "both" ? (onPath ? "path" : edge.onChain ? "chain" : near ? "near" : "plain") : edge.status;
  const classes = [
    "edge",
    edge.kind,
    edge.status,
    onPath && "path",
    edge.onChain && "chain",
    near && "near",
    edge.uncertain && "uncertain",
    edge.gaps.length > 0 && "missing",
    edge.strength !== undefined && `wide-${Math.round(edge.strength * WIDTHS)}`,
  ];
  return svg`<g class=${classes.filter(Boolean).join(" ")}>
    <title>${edgeTitle(edge)}</title>
    ${onPath ? svg`<path class="halo" d=${path} />` : nothing}
    ${edge.gaps.length > 0 ? svg`<path class="missing" d=${path} />` : nothing}
    <path class="line" d=${path} marker-end="url(#arrow-${head})" />
    <path class="touch" d=${path} />
  </g>`;
}

export interface PlacedLabel extends Label {
  text: string;
  status: PanelEdge["status"];
  onChain: boolean;
}

/** The labels that find room, with their texts cut to it. */
export function placeLabels(graph: PanelGraph, layout: Layout, measure: Measure): PlacedLabel[] {
  const routes = new Map(layout.routes.map((route) => [route.id, route]));
  // Those the eye follows find room first.
  const labelled = graph.edges
    .filter((edge) => edgeLabel(edge) !== "")
    .sort((a, b) => Number(b.onChain) - Number(a.onChain));
  const byId = new Map(labelled.map((edge) => [edge.id, edge]));
  const wanted = labelled.map((edge): Label => {
    const width = Math.min(labelWidth(edge, measure), LONGEST_LABEL);
    const at = labelPlace(routes.get(edge.id) ?? { points: [] }, width, layout.flow);
    return { id: edge.id, at, width, height: LABEL_HEIGHT };
  });
  return separateLabels(wanted, layout.flow).flatMap((label) => {
    const edge = byId.get(label.id);
    if (!edge) return [];
    const text = elide(edgeLabel(edge), (one) => measure(one, "meta") <= label.width - 8);
    return [{ ...label, text, status: edge.status, onChain: edge.onChain }];
  });
}

export function drawLabel({ at: [x, y], width, text, status, onChain }: PlacedLabel): SVGTemplateResult {
  return svg`<g class="edge-label ${status} ${onChain ? "chain" : ""}" transform="translate(${x} ${y})">
    <rect x=${-width / 2} y=${-LABEL_HEIGHT / 2} width=${width} height=${LABEL_HEIGHT} rx=${LABEL_HEIGHT / 2} />
    <text text-anchor="middle" dy="0.35em">${text}</text>
  </g>`;
}

/** Around the nodes that are in another one. */
export interface DrawnFrame {
  id: string;
  title: string;
  left: number;
  top: number;
  right: number;
  bottom: number;
  /** From the right side of the node that is opened. */
  tie: readonly [x: number, y: number];
}

export function drawFrame({ title, left, top, right, bottom, tie }: DrawnFrame, measure: Measure): SVGTemplateResult {
  const room = right - left - 2 * PADDING_LEFT;
  const [x, y] = tie;
  const middle = (x + left) / 2;
  return svg`<g class="frame">
    <path class="tie" d="M${x},${y}C${middle},${y} ${middle},${top + 15} ${left},${top + 15}" />
    <rect x=${left} y=${top} width=${right - left} height=${bottom - top} rx="8" />
    <text x=${left + PADDING_LEFT} y=${top + 19}>${elide(title, (text) => measure(text, "meta") <= room)}</text>
  </g>`;
}

/** `reachable`: the one node that Tab goes to; the others are reached from it by arrows. */
export function drawGraphNode(
  node: PanelNode,
  box: PlacedNode,
  look: Look,
  act: GraphNodeActions,
  reachable: boolean,
): SVGTemplateResult {
  const word = tag(node);
  const room = box.width - PADDING_LEFT - PADDING_RIGHT;
  const tagRoom = tagWidth(node, look.measure);
  const name = elide(node.name, (text) => look.measure(text, "name") <= room - tagRoom + 1);
  const meta = elide(node.meta, (text) => look.measure(text, "meta") <= room + 1);
  const isSelected = look.selected.has(node.id);
  const title = nodeTitle(node);
  const classes = [
    "node",
    `kind-${node.kind || "call"}`,
    node.status,
    node.onChain && "chain",
    look.showPath && node.onCriticalPath && "path",
    node.root && "root",
    isSelected && "selected",
    look.found.has(node.id) && "match",
    node.notable && "notable",
    node.heat !== undefined && `heat-${Math.ceil(node.heat * HEATS)}`,
  ];
  return svg`<g
    class=${classes.filter(Boolean).join(" ")}
    data-id=${node.id}
    role="button"
    tabindex=${reachable ? "0" : "-1"}
    aria-label=${title}
    aria-pressed=${isSelected ? "true" : "false"}
    transform="translate(${box.x - box.width / 2} ${box.y - box.height / 2})"
    @click=${() => {
      act.choose(node.id);
    }}
    @focus=${() => {
      act.focus(node.id);
    }}
  >
    <title>${title}</title>
    <rect class="ring" x="-4" y="-4" width=${box.width + 8} height=${NODE_HEIGHT + 8} rx="8" />
    ${
      node.members.length > 0
        ? svg`<rect class="box under" x="4" y="4" width=${box.width} height=${NODE_HEIGHT} rx="5" />`
        : nothing
    }
    <rect class="box" width=${box.width} height=${NODE_HEIGHT} rx="5" />
    <path
      class="stripe p${look.colours.get(node.process) ?? "none"}"
      d="M5 0A5 5 0 0 0 0 5V${NODE_HEIGHT - 5}A5 5 0 0 0 5 ${NODE_HEIGHT}Z"
    />
    ${node.gapSpans.map(
      (span) =>
        svg`<rect class="gap" x=${GAP_INSET + span.start * (box.width - 2 * GAP_INSET)} y=${NODE_HEIGHT - 5.5}
          width=${span.length * (box.width - 2 * GAP_INSET)} height="4.5" />`,
    )}
    <text class="name" x=${PADDING_LEFT} y="20">${name}</text>
    <text class="meta" x=${PADDING_LEFT} y="37">${meta}</text>
    ${word ? svg`<text class="tag" x=${box.width - PADDING_RIGHT} y="19.5" text-anchor="end">${word}</text>` : nothing}
    ${node.steps.length > 0 ? stepBadge(node.steps) : nothing}
  </g>`;
}

/** How a gap is filled, wherever it is drawn: defined once in the page. */
export function gapPattern(): SVGTemplateResult {
  return svg`<pattern id="gap-hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
    <rect class="gap-ground" width="5" height="5" /><rect class="gap-line" width="2" height="5" />
  </pattern>`;
}

export function arrowHead(name: string): SVGTemplateResult {
  return svg`<marker id="arrow-${name}" class="arrow ${name}" viewBox="0 0 8 8" refX="7.2" refY="4" markerWidth="8" markerHeight="8"
    markerUnits="userSpaceOnUse" orient="auto"><path d="M0.5 0.8 7.5 4 0.5 7.2Z" /></marker>`;
}

/** The chain's numbers, on the node's upper left corner. */
function stepBadge(steps: readonly number[]): SVGTemplateResult {
  const text = steps.length > 3 ? `${steps[0] ?? ""}…${steps.at(-1) ?? ""}` : steps.join(",");
  const width = Math.max(18, 10 + text.length * 7);
  return svg`<g class="steps" transform="translate(-7 -9)"><rect width=${width} height="18" rx="9" /><text x=${width / 2} y="12.8"
    text-anchor="middle">${text}</text></g>`;
}

function nodeTitle(node: PanelNode): string {
  const marks = [
    node.steps.length > 0 ? `step ${node.steps.join(", ")} of the chain` : "",
    node.onCriticalPath ? "on the critical path" : "",
    node.status === "after" ? "only in the later run" : node.status === "before" ? "only in the earlier run" : "",
  ].filter(Boolean);
  return [node.label, node.meta, node.detail, marks.join(", "), ...node.gaps.map((gap) => gap.text)]
    .filter(Boolean)
    .join("\n");
}

const KINDS: Record<PanelEdge["kind"], string> = {
  call: "calls",
  use: "causes",
  sync: "releases",
  state: "last change of the state used by",
  next: "continues as",
  diff: "leads to",
  move: "is directly followed by",
};

function edgeTitle(edge: PanelEdge): string {
  const parts = [KINDS[edge.kind], edge.channel ? `(${edge.channel})` : "", count(edge.count, "time")];
  const about = edge.uncertain ? "about " : "";
  if (edge.latencyNs > 0) parts.push(`taking ${about}${duration(edge.latencyNs)} in total`);
  if (edge.status !== "both") parts.push(`only in the run ${edge.status}`);
  return [parts.filter(Boolean).join(" "), edge.clock, ...edge.gaps.map((gap) => gap.text)].filter(Boolean).join("\n");
}
