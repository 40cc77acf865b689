/** The lanes of a critical path as an SVG file, with names, in the current colours of the theme. */
import { duration } from "../../ui/text/format";
import type { PathLanes } from "../../segments/path";
import { SvgPen } from "../../ui/canvas/svgPen";
import { BAR, LANE, SMALLEST } from "./lanes";

const NAMES = 240;
const BARS = 900;
const MARGIN = 16;

export function pathLanesSvg(
  { lanes, handOvers }: PathLanes,
  totalNs: number,
): { text: string; width: number; height: number } {
  const style = getComputedStyle(document.body);
  const colour = (name: string): string => style.getPropertyValue(name).trim() || style.color;
  const pen = new SvgPen();
  pen.font = `11px ${style.fontFamily}`;
  pen.textBaseline = "middle";
  const left = MARGIN + NAMES;
  const at = (share: number): number => left + share * BARS;
  const middle = (lane: number): number => MARGIN + lane * LANE + LANE / 2;
  lanes.forEach((lane, number) => {
    pen.fillStyle = style.color;
    pen.textAlign = "right";
    pen.fillText(lane.name, left - 10, middle(number));
    pen.globalAlpha = 0.07;
    pen.fillRect(left, middle(number) - BAR / 2, BARS, BAR);
    pen.fillStyle = colour("--path");
    for (const { from, work, to } of lane.pieces) {
      for (const [begin, end, alpha] of [
        [from, work, 0.26],
        [work, to, 1],
      ] as const) {
        pen.globalAlpha = alpha;
        const width = Math.max(end - begin, SMALLEST) * BARS;
        if (end > begin) pen.fillRect(at(Math.min(begin, 1 - SMALLEST)), middle(number) - BAR / 2, width, BAR);
      }
    }
    pen.globalAlpha = 1;
  });
  pen.fillStyle = colour("--edge-strong");
  for (const { from, to, at: share } of handOvers) {
    pen.fillRect(at(share) - 0.5, middle(Math.min(from, to)), 1, Math.abs(to - from) * LANE);
  }
  pen.fillStyle = style.color;
  const bottom = MARGIN + lanes.length * LANE + 10;
  for (const [share, align] of [
    [0, "left"],
    [0.5, "center"],
    [1, "right"],
  ] as const) {
    pen.textAlign = align;
    pen.fillText(share === 0 ? "0" : duration(totalNs * share), at(share), bottom);
  }
  const [width, height] = [left + BARS + MARGIN, bottom + MARGIN];
  return { text: SvgPen.file([pen], width, height, style.backgroundColor), width, height };
}
