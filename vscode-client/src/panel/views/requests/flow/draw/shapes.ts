/** Draws the calls, edges, bars and joins of a flow as SVG. The functions are stateless. */
import { nothing, svg, type SVGTemplateResult } from "lit";
import type { BarShape, EdgeShape, FlowDrawing, JoinShape, LaneShape } from "../layout/shapes";
import type { PlacedNode } from "../../../../graph/layout/types";
import type { Flow, FlowCall } from "../model/flow";
import { edgeTime, fit, FLOW_NODE, FLOW_PADDING, heading, ownTime, type Shown, sign } from "../model/nodeTexts";
import { count, duration } from "../../../../ui/text/format";
import { probability } from "../../../../ui/text/probability";
import type { Significance } from "../model/significance";
import type { Measure } from "../../../../graph/sizes";

export interface FlowLook {
  flow: Flow;
  found: Significance;
  shown: Shown;
  selected: ReadonlySet<string>;
  hits: ReadonlySet<string>;
  /** Part of the measured interval. */
  measured: ReadonlySet<string>;
  anchor: string;
  measure: Measure;
  /** How visible a call is, 0 to 1. */
  opacity(call: FlowCall): number;
  /** Are labels shown? Interpolated states have none. */
  labelled: boolean;
}

export interface FlowActions {
  choose(id: string, event: MouseEvent): void;
  focus(id: string): void;
  hover(id: string): void;
}

export function drawFlow(drawing: FlowDrawing, look: FlowLook, act: FlowActions, reachable: string): SVGTemplateResult {
  const call = (id: string): FlowCall | undefined => look.flow.byId.get(id);
  const weight = (edge: EdgeShape): number =>
    (isSure(look, edge.id) ? 2 : 0) + (call(edge.id)?.status === "both" && edge.sides.length > 1 ? 0 : 1);
  const labels = new Map(drawing.labels.map((label) => [label.id, label]));
  return svg`
    <g class="flow-lanes">${drawing.lanes.map((lane) => drawLane(lane, drawing.flow))}</g>
    <g class="joins">${drawing.joins.map((join) => drawJoin(join, look))}</g>
    <g class="edges">
      ${[...drawing.edges].sort((a, b) => weight(a) - weight(b)).map((edge) => drawEdge(edge, look))}
      ${drawing.bars.map((bar) => drawBar(bar, look))}
    </g>
    <g class="nodes">
      ${drawing.nodes.map((node) => {
        const one = call(node.id);
        return one ? drawNode(one, node, look, act, node.id === reachable) : nothing;
      })}
    </g>
    ${
      look.labelled
        ? svg`<g class="flow-labels" aria-hidden="true">
            ${[...labels.values()].map((label) => {
              const one = call(label.id);
              const text = one ? edgeTime(one, look.shown) : "";
              return text === ""
                ? nothing
                : svg`<text class=${isSure(look, label.id) ? "sure" : ""} x=${label.at[0]} y=${label.at[1]} dy="0.35em"
                    text-anchor=${label.align}>${isSure(look, label.id) ? `▲ ${text}` : text}</text>`;
            })}
          </g>`
        : nothing
    }
  `;
}

/** Is its edge significant? Of folded calls only the first has an edge that is drawn. */
function isSure(look: FlowLook, id: string): boolean {
  const call = look.flow.byId.get(id);
  const drawn = call?.kind === "equal" ? call.members.slice(0, 1) : (call?.members ?? []);
  return drawn.some((one) => look.found.edges.has(one.id));
}

function drawLane({ name, box: node, names }: LaneShape, flow: FlowDrawing["flow"]): SVGTemplateResult {
  return svg`<rect x=${node.x - node.width / 2} y=${node.y - node.height / 2} width=${node.width} height=${node.height} rx="6" />
    ${names.map(
      ([x, y]) =>
        svg`<text dy="0.35em" transform="translate(${x} ${y}) rotate(${flow === "down" ? 90 : 0})">${name}</text>`,
    )}`;
}

function drawEdge(edge: EdgeShape, look: FlowLook): SVGTemplateResult {
  const call = look.flow.byId.get(edge.id);
  const side = edge.sides.length === 1 ? edge.sides[0] : "both";
  // On one side's own picture its edges are nothing special.
  const status = look.shown === "both" || call?.status !== "both" ? side : "both";
  return svg`<path class="flow-edge ${status} ${isSure(look, edge.id) ? "sure" : ""}" d=${edge.path}
    opacity=${call ? look.opacity(call) : 1} />`;
}

function drawBar(bar: BarShape, look: FlowLook): SVGTemplateResult {
  const call = look.flow.byId.get(bar.id);
  const sure = isSure(look, bar.id);
  return svg`<line class="flow-bar ${look.shown === "both" ? bar.side : "one"} ${sure ? "sure" : ""}"
    x1=${bar.from[0]} y1=${bar.from[1]} x2=${bar.to[0]} y2=${bar.to[1]} opacity=${call ? look.opacity(call) : 1} />`;
}

function drawJoin(join: JoinShape, look: FlowLook): SVGTemplateResult {
  const name = look.flow.byId.get(join.parent)?.name ?? "";
  return svg`<g class="join ${look.shown === "both" ? join.side : ""}">
    ${join.waits.map(
      (wait) =>
        svg`<path d=${wait.path}><title>${
          wait.waitNs > 0
            ? `${look.flow.byId.get(wait.id)?.name ?? ""} waits ${duration(wait.waitNs)} for the last (${join.side})`
            : `${look.flow.byId.get(wait.id)?.name ?? ""} is the last (${join.side})`
        }</title></path>`,
    )}
    <circle cx=${join.at[0]} cy=${join.at[1]} r="3.5"><title>${name} continues when all have ended</title></circle>
  </g>`;
}

function drawNode(
  call: FlowCall,
  node: PlacedNode,
  look: FlowLook,
  act: FlowActions,
  reachable: boolean,
): SVGTemplateResult {
  const sure = call.members.filter((one) => look.found.calls.has(one.id)).length;
  const isSelected = call.members.some((one) => look.selected.has(one.id));
  const title = callTitle(call, look);
  const room = node.width - 2 * FLOW_PADDING;
  const mark = [sign(call), sure > 0 ? "▲" : ""].filter(Boolean).join(" ");
  const classes = [
    "node",
    "flow-call",
    call.status,
    call.kind,
    sure > 0 && "sure",
    isSelected && "selected",
    call.members.some((one) => look.hits.has(one.id)) && "match",
    call.members.some((one) => look.measured.has(one.id)) && "measured",
    call.id === look.anchor && "anchor",
  ];
  return svg`<g
    class=${classes.filter(Boolean).join(" ")}
    data-id=${call.id}
    role="button"
    tabindex=${reachable ? "0" : "-1"}
    aria-label=${title}
    aria-pressed=${isSelected ? "true" : "false"}
    opacity=${look.opacity(call)}
    transform="translate(${node.x - node.width / 2} ${node.y - node.height / 2})"
    @click=${(event: MouseEvent) => {
      act.choose(call.id, event);
    }}
    @focus=${() => {
      act.focus(call.id);
    }}
    @pointerenter=${() => {
      act.hover(call.id);
    }}
    @pointerleave=${() => {
      act.hover("");
    }}
  >
    <title>${title}</title>
    <rect class="ring" x="-4" y="-4" width=${node.width + 8} height=${FLOW_NODE + 8} rx="8" />
    ${
      call.members.length > 1
        ? svg`<rect class="box under" x="4" y="4" width=${node.width} height=${FLOW_NODE} rx="5" />`
        : nothing
    }
    <rect class="box" width=${node.width} height=${FLOW_NODE} rx="5" />
    <text class="name" x=${FLOW_PADDING} y="18">${mark ? svg`<tspan class="mark">${mark} </tspan>` : nothing}${fit(
      heading(call),
      room - (mark ? look.measure(`${mark} `, "name") : 0),
      "name",
      look.measure,
    )}</text>
    <text class="meta" x=${FLOW_PADDING} y="34">${fit(ownTime(call, look.shown), room, "meta", look.measure)}</text>
    ${
      call.id === look.anchor
        ? svg`<path class="anchor-mark" transform="translate(${node.width - 9} -9)"
            d="M9 4.5a2 2 0 1 0-.1 0M9 4.8V15M5.5 8h7M2.5 10.5c.6 3 3 4.7 6.5 4.7s5.9-1.7 6.5-4.7" />`
        : nothing
    }
  </g>`;
}

/** The full description of a node, for its tooltip and for screen readers. */
export function callTitle(call: FlowCall, look: Pick<FlowLook, "found">): string {
  const { before, after } = call.times;
  const sure = call.members.filter((one) => look.found.calls.has(one.id)).length;
  const only = call.status === "both" ? "" : `only ${call.status}`;
  const holds =
    call.kind === "equal"
      ? `${count(call.members.length, "call")} of both sides, none significantly slower in self time; Enter ungroups them`
      : call.kind === "repeats"
        ? `${count(call.members.length, "call")} of this name; Enter ungroups them`
        : "";
  const significant =
    sure === 0
      ? ""
      : call.members.length > 1
        ? `${sure} of them significantly slower`
        : `self time significantly slower, ${probability(call.p)}`;
  const edge = edgeTime(call, "both");
  return [
    call.kind === "equal"
      ? call.members
          .map((one) => one.name)
          .slice(0, 6)
          .join(", ")
      : call.label,
    [only, holds].filter(Boolean).join(", "),
    ownTime(call, "both"),
    edge && `latency for its caller ${edge}`,
    before && after && call.pEdge !== null ? `(${probability(call.pEdge)})` : "",
    significant,
  ]
    .filter(Boolean)
    .join("\n");
}
