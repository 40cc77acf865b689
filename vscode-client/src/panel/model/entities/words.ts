/** What is seen of entities in plain words: how clear their picture is, and what happened in a step. */
import type { Clarity } from "../../layout/entities/clarity";
import type { EntityBox } from "../../../shared/protocol";
import { count, thousands } from "../format";
import { labelsOf } from "./labels";
import type { Step } from "./state";

/** The paper's three measures, and what they come to; who stands in a foreign container is said where somebody does. */
export function clarityWords({ ratio, lines, clear, crossings, passed, foreign, cleared }: Clarity): {
  short: string;
  long: string;
} {
  const strangers = foreign === 0 ? [] : [`${times(foreign)} somebody stands in a foreign container`];
  if (lines === 0) {
    return { short: ["no communication yet", ...strangers].join(" · "), long: "No line can be unclear." };
  }
  const measures = [
    each(ratio, "line", "for each entity"),
    each((2 * crossings) / lines, "crossing", "on a line"),
    passed === 0 ? "over nobody" : `${times(passed)} over somebody else`,
    ...strangers,
  ];
  const verdict = clear === lines ? "all lines are clear" : `${thousands(clear)} of ${count(lines, "line")} are clear`;
  return {
    short: `${verdict} · ${measures.join(" · ")}`,
    long:
      "A line is clear when fewer than 3 others cross it and it passes over no entity that it does not concern. " +
      (cleared
        ? "All lines are, and nobody stands in a foreign container."
        : "The clearest layout has most such lines, and fewest entities in foreign containers."),
  };
}

function each(value: number, what: string, of: string): string {
  const said = round(value);
  return `${said} ${said === "1" ? what : `${what}s`} ${of}`;
}

function times(value: number): string {
  return value === 1 ? "once" : value === 2 ? "twice" : `${thousands(value)} times`;
}

function round(value: number): string {
  return value >= 9.95 ? thousands(value) : value.toFixed(1).replace(/\.0$/, "");
}

/** One that is selected, for who hears the page: what is seen of it at once. */
export function boxWords(
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
export function stepWords(
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
  if (!box) return "something that is not shown";
  if (!moved?.after) return `${name(box.entity)} ends`;
  return box.container >= 0 ? `${name(box.entity)} moves into ${name(box.container)}` : `${name(box.entity)} is there`;
}
