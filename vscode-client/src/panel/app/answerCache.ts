/**
 * Caches the latest answers of the server by question, so that going back needs no request.
 *
 * Invariant: an answer stays cached only until the data may have changed (`forget`).
 */
const KEPT = 24;

export class Answers {
  private readonly answers = new Map<string, unknown>();

  keep(method: string, params: unknown, answer: unknown): void {
    const key = keyOf(method, params);
    this.answers.delete(key);
    this.answers.set(key, answer);
    const [oldest] = this.answers.keys();
    if (this.answers.size > KEPT && oldest !== undefined) this.answers.delete(oldest);
  }

  /** Undefined where there is none. */
  recall(method: string, params: unknown): unknown {
    return this.answers.get(keyOf(method, params));
  }

  forget(): void {
    this.answers.clear();
  }
}

function keyOf(method: string, params: unknown): string {
  return `${method} ${JSON.stringify(params)}`;
}
