/**
 * Short names of processes, whose full names are command lines: the words that differ.
 *
 * Invariant: different processes get different names, and a name consists of words of the full name in their order.
 */

import { groupBy } from "../../../shared/group";
import type { ProcessRef } from "../../../shared/protocol";

/** Full name to short name. */
export function shortProcesses(processes: readonly string[]): ReadonlyMap<string, string> {
  const full = [...new Set(processes)].filter(Boolean);
  const uses = new Map<string, number>();
  for (const name of full) {
    for (const word of new Set(words(name))) uses.set(word, (uses.get(word) ?? 0) + 1);
  }
  const tells = (word: string): boolean => (uses.get(word) ?? 0) <= full.length / 2 && !word.startsWith("-");
  const named = (name: string): boolean => words(name).length > 1;
  // A number alone says little, so it stays only if nothing else distinguishes two processes.
  const attempts = [
    new Map(full.map((name) => [name, named(name) ? pick(name, (word) => tells(word) && hasLetter(word)) : name])),
    new Map(full.map((name) => [name, named(name) ? pick(name, tells) : name])),
  ].map((names) => ({ names, taken: tally([...names.values()]) }));
  const choose = (name: string): string => {
    for (const { names, taken } of attempts) {
      const short = names.get(name);
      if (short !== undefined && taken.get(short) === 1) return short;
    }
    return name;
  };
  return new Map(full.map((name) => [name, choose(name)]));
}

/** The short names, followed by the machine of each process if there are several machines. */
export function withMachines(
  short: ReadonlyMap<string, string>,
  processes: readonly ProcessRef[],
): ReadonlyMap<string, string> {
  const machines = new Map(processes.map((process) => [process.name, process.machine]));
  return new Map([...short].map(([full, name]) => [full, [name, machines.get(full)].filter(Boolean).join(" @ ")]));
}

/** The words of a name that contain letters, repeated words once; its first word if none does. */
function pick(name: string, tells: (word: string) => boolean): string {
  const kept = words(name).filter(tells);
  const once = kept.filter((word, index) => word !== kept[index - 1]);
  if (!once.some(hasLetter)) once.unshift(words(name)[0] ?? name);
  return once.join(" ");
}

function tally(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map([...groupBy(names, (name) => name)].map(([name, same]) => [name, same.length]));
}

function hasLetter(word: string): boolean {
  return /\p{L}/u.test(word);
}

function words(name: string): string[] {
  return name.split(/\s+/).filter(Boolean);
}
