/** Numbers that look random and are the same on every machine. */
export interface RandomNumbers {
  /** A whole number from 0 up to and without `bound`. */
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
