/** Answers that a view has shown, the newest last, so that it can go back without asking again. */
const KEPT = 20;

export class History<T> {
  private readonly answers: T[] = [];

  get current(): T | undefined {
    return this.answers.at(-1);
  }

  get hasEarlier(): boolean {
    return this.answers.length > 1;
  }

  push(answer: T): void {
    this.answers.push(answer);
    if (this.answers.length > KEPT) this.answers.shift();
  }

  replace(answer: T): void {
    this.answers.pop();
    this.answers.push(answer);
  }

  pop(): T | undefined {
    if (this.hasEarlier) this.answers.pop();
    return this.current;
  }
}
