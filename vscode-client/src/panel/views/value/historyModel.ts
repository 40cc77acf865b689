/** Where the writes of a state are in the picture of its history. */
import type { HistoryResult, StateWrite } from "../../../shared/protocol";

export type Spacing = "time" | "order";

/** Shares of the width that a mark needs for itself, and a mark with its value. */
const MARK = 0.012;
const LABELLED = 0.13;

export interface PlacedWrite {
  write: StateWrite;
  /** Its place in the answer, from 0. */
  number: number;
  /** From 0 (left) to 1. */
  at: number;
  /** Whether there is room for its value. */
  hasLabel: boolean;
}

export interface HistoryPicture {
  /** The writes of each lane. */
  lanes: PlacedWrite[][];
  /** Where the code in question read the state; undefined if that is not known. */
  readAt: number | undefined;
  /** The times of the left and the right end. */
  fromNs: number;
  toNs: number;
}

/** By time, unless most neighbours would cover one another. */
export function usualSpacing({ writes, readNs }: HistoryResult): Spacing {
  const [fromNs, toNs] = range(writes, readNs);
  const steps = writes.slice(1).map((write, number) => write.timeNs - (writes[number]?.timeNs ?? 0));
  const close = steps.filter((step) => step < MARK * (toNs - fromNs)).length;
  return steps.length > 0 && close > steps.length / 2 ? "order" : "time";
}

export function historyPicture({ writes, lanes, readNs }: HistoryResult, spacing: Spacing): HistoryPicture {
  const [fromNs, toNs] = range(writes, readNs);
  const byTime = (ns: number): number => (toNs > fromNs ? (ns - fromNs) / (toNs - fromNs) : 0.5);
  const before = writes.filter((write) => readNs !== null && write.timeNs <= readNs).length;
  // The read has a place of its own between the writes.
  const places = writes.length + (readNs === null ? 0 : 1);
  const byOrder = (place: number): number => (place + 0.5) / places;
  const placed = writes.map((write, number) => ({
    write,
    number,
    at: spacing === "time" ? byTime(write.timeNs) : byOrder(number + (readNs !== null && number >= before ? 1 : 0)),
    hasLabel: false,
  }));
  const inLanes = lanes.map((_lane, lane) => placed.filter((one) => one.write.lane === lane));
  const readAt = readNs === null ? undefined : spacing === "time" ? byTime(readNs) : byOrder(before);
  for (const lane of inLanes) {
    lane.forEach((one, place) => {
      one.hasLabel = (lane[place + 1]?.at ?? Infinity) - one.at >= LABELLED;
    });
  }
  return { lanes: inLanes, readAt, fromNs, toNs };
}

function range(writes: readonly StateWrite[], readNs: number | null): [number, number] {
  const times = [...writes.map(({ timeNs }) => timeNs), ...(readNs === null ? [] : [readNs])];
  return [Math.min(...times), Math.max(...times)];
}
