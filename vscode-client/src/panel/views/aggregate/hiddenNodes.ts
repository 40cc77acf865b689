/** Notices about nodes that the picture leaves out: the lightest of too many, and calls that were only counted. */
import { html, nothing, type TemplateResult } from "lit";
import type { AggregateResult } from "../../../shared/protocol";
import { type NodeMeasure, MEASURES } from "./model";
import { count } from "../../ui/text/format";
import { notice } from "../../ui/parts";

const NODES = 60;
const MOST_NODES = 400;

/** `draw` receives the new maximum number of nodes. */
export function hiddenNodes(
  result: AggregateResult,
  { maxBoxes: asked = NODES, measure }: { maxBoxes: number | undefined; measure: NodeMeasure },
  draw: (maxBoxes: number) => void,
): TemplateResult {
  const more = Math.min(MOST_NODES, asked * 2);
  const words = `${count(result.hiddenBoxes, "lighter node")} not drawn (ranked by ${MEASURES[measure]}).`;
  return html`
    ${
      result.hiddenBoxes === 0
        ? nothing
        : more > asked
          ? notice("info", words, {
              name: `Draw up to ${more}`,
              run: () => {
                draw(more);
              },
            })
          : notice("info", words)
    }
    ${
      result.countedCalls > 0
        ? notice("info", `${count(result.countedCalls, "call")} were only counted and belong to no node.`)
        : nothing
    }
  `;
}
