/** Texts about entities: the clarity of their picture, and the events of a step. */
import type { Clarity } from "../layouts/clarity";
import type { EntityBox } from "../../../../shared/protocol";
import { count, thousands } from "../../../ui/text/format";
import { labelsOf } from "./labels";
import type { Step } from "./state";

/** The three measures of the paper and their summary; overlaps with foreign containers only if there are any. */
export function clarityText({ ratio, lines, clear, crossings, passed, foreign, cleared }: Clarity): {
  short: string;
  long: string;
} {
  const strangers = foreign === 0 ? [] : [`overlaps with foreign containers: ${thousands(foreign)}`];
  if (lines === 0) {
    return { short: ["no communication yet", ...strangers].join(" · "), long: "There are no lines yet." };
  }
  const measures = [
    each(ratio, "line", "for each entity"),
    each((2 * crossings) / lines, "crossing", "on a line"),
    `lines over other entities: ${thousands(passed)}`,
    ...strangers,
  ];
  const verdict = clear === lines ? "all lines are clear" : `${thousands(clear)} of ${count(lines, "line")} are clear`;
  return {
    short: `${verdict} · ${measures.join(" · ")}`,
    long:
      "A line is clear if fewer than 3 other lines cross it and it passes over no unrelated entity. " +
      (cleared
        ? "All lines are clear, and no entity overlaps a foreign container."
        : "The clearest layout has the most clear lines and the fewest entities in foreign containers."),
  };
}

function each(value: number, what: string, of: string): string {
  const said = round(value);
  return `${said} ${said === "1" ? what : `${what}s`} ${of}`;
}

function round(value: number): string {
  return value >= 9.95 ? thousands(value) : value.toFixed(1).replace(/\.0$/, "");
}

/** The selected entity in words, for screen readers. */
export function entityText(
  box: EntityBox,
  known: ReadonlyMap<number, EntityBox>,
  labels: ReadonlyMap<number, string> = labelsOf(known),
): string {
  const around = known.get(box.container);
  const parts = [
    labels.get(box.entity) ?? box.name,
    around ? `in ${labels.get(around.entity) ?? around.name}` : "",
    box.holds > 0 ? `holds ${thousands(box.holds)}` : "",
    `sent ${thousands(box.sent)}`,
    `received ${thousands(box.received)}`,
  ];
  return parts.filter(Boolean).join(", ");
}

/** All that happened where it is one thing, else how much. */
export function stepText(
  { from, to, boxes, lines }: Step,
  known: ReadonlyMap<number, EntityBox>,
  labels: ReadonlyMap<number, string> = labelsOf(known),
): string {
  const name = (entity: number): string =>
    labels.get(entity) ?? boxes.find(({ before }) => before?.entity === entity)?.before?.name ?? "somebody";
  if (to - from > 1) return `${count(to - from, "event")}: now at event ${thousands(to)}`;
  const [line] = lines;
  if (line) return `${name(line.source)} → ${name(line.target)}${line.channel ? ` (${line.channel})` : ""}`;
  const moved = boxes.find(({ before, after }) => before?.container !== after?.container);
  const box = moved?.after ?? moved?.before;
  if (!box) return "an entity that is not shown";
  if (!moved?.after) return `${name(box.entity)} ends`;
  return box.container >= 0 ? `${name(box.entity)} moves into ${name(box.container)}` : `${name(box.entity)} appears`;
}
