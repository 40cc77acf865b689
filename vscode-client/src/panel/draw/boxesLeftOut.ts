/** What the picture of boxes leaves out: the lightest of too many, and calls that were only counted. */
import { html, nothing, type TemplateResult } from "lit";
import type { AggregateResult } from "../../shared/protocol";
import { type BoxMeasure, MEASURES } from "../model/aggregate";
import { count } from "../model/format";
import { notice } from "./parts";

const BOXES = 60;
const MOST_BOXES = 400;

/** `draw` is told how many more there may be. */
export function boxesLeftOut(
  result: AggregateResult,
  { maxBoxes: asked = BOXES, measure }: { maxBoxes: number | undefined; measure: BoxMeasure },
  draw: (maxBoxes: number) => void,
): TemplateResult {
  const more = Math.min(MOST_BOXES, asked * 2);
  const words = `${count(result.hiddenBoxes, "lighter box")} not drawn (by ${MEASURES[measure]}).`;
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
        ? notice("info", `${count(result.countedCalls, "call")} were only counted, and are in no box.`)
        : nothing
    }
  `;
}
