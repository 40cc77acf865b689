/** Pseudo-random numbers that are the same on every machine. */
export interface RandomNumbers {
  /** Returns a whole number from 0 up to, but not including, `bound`. */
  below(bound: number): number;
}

export function random(seed: number): RandomNumbers {
  let state = seed >>> 0;
  return {
    below(bound) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * bound);
    },
  };
}
