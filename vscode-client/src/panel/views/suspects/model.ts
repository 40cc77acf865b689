/** The rows of suspects: the function, the weight of the evidence, and the numbers of each piece of evidence. */
import type { LocalizeEvidence, LocalizeSuspect } from "../../../shared/protocol";
import { probability } from "../../ui/text/probability";
import { duration, shortLabel, thousands } from "../../ui/text/format";
import { percent } from "../../ui/text/format";
import { matcher } from "../../ui/searchMatch";

export interface SuspectLine {
  suspect: LocalizeSuspect;
  /** The function, or where there is none, the service. */
  title: string;
  /** Service, caller and instance, as far as they say more. */
  where: string;
  /** What speaks most against it, in a word or two. */
  word: string;
  /** Bits, and as a share (0 to 1) of the first one's. */
  score: string;
  share: number;
  numbers: string;
  sure: string;
}

const WORDS: Record<LocalizeEvidence["kind"], string> = {
  work: "self time",
  waiting: "own waiting",
  edge: "time to reach it",
  instance: "one instance",
  call: "calls",
  error: "errors",
  log: "log messages",
};

/** Of these the numbers are times; of the others shares of visits. */
const TIMES: ReadonlySet<LocalizeEvidence["kind"]> = new Set(["work", "waiting", "edge", "instance"]);

export function suspectLines(suspects: readonly LocalizeSuspect[]): SuspectLine[] {
  const highest = Math.max(1e-9, ...suspects.map((one) => one.score));
  return suspects.map((suspect) => {
    const [first] = suspect.evidence;
    return {
      suspect,
      title: placeName(suspect),
      where: [
        suspect.service && suspect.method ? suspect.service : "",
        suspect.caller ? `from ${shortLabel(suspect.caller)}` : "",
        suspect.instance ? `on ${suspect.instance}` : "",
      ]
        .filter(Boolean)
        .join(" · "),
      word: first ? WORDS[first.kind] : "",
      score: bits(suspect.score),
      share: suspect.score / highest,
      numbers: first ? evidenceNumbers(first) : "",
      sure: first ? probability(first.p) : "",
    };
  });
}

/** Suspects whose places or reasons have every word of `text`; all for an empty text. */
export function filterSuspects(suspects: readonly LocalizeSuspect[], text: string): LocalizeSuspect[] {
  const matches = matcher(text);
  return suspects.filter((one) => {
    const reasons = one.evidence.map((piece) => `${piece.sentence} ${piece.text}`).join(" ");
    return matches(`${one.service} ${one.method} ${one.caller} ${one.instance} ${one.sentence} ${reasons}`);
  });
}

export function evidenceWord(piece: LocalizeEvidence): string {
  return WORDS[piece.kind];
}

/** `1.2 ms → 4.8 ms`, or of what is no time `2 % → 40 %` of the visits. */
export function evidenceNumbers(piece: LocalizeEvidence): string {
  const said = (value: number | null): string =>
    value === null ? "–" : TIMES.has(piece.kind) ? duration(value) : percent(value);
  return piece.before === null && piece.after === null ? "" : `${said(piece.before)} → ${said(piece.after)}`;
}

/** `40 and 38 requests`. */
export function samples(piece: LocalizeEvidence): string {
  return `${thousands(piece.samplesBefore)} and ${thousands(piece.samplesAfter)} requests`;
}

export function bits(score: number): string {
  return `${score >= 9.95 ? thousands(score) : score.toFixed(1)} bits`;
}

export function placeName(suspect: LocalizeSuspect): string {
  return suspect.method ? shortLabel(suspect.method) : suspect.service;
}
