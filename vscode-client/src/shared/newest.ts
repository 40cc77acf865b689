/** Drops outdated answers: answers can overtake one another, and only the answer to the newest request counts. */

export class Newest {
  private asked = 0;

  /** Starts a request. The result tells whether the request is still the newest one. */
  begin(): () => boolean {
    const number = ++this.asked;
    return () => number === this.asked;
  }

  /** What is under way is not wanted any more. */
  forget(): void {
    this.asked += 1;
  }

  /** What is answered; undefined when it was asked again meanwhile, whether it is answered or fails. */
  async of<T>(answer: Promise<T>): Promise<T | undefined> {
    const isNewest = this.begin();
    try {
      const found = await answer;
      return isNewest() ? found : undefined;
    } catch (error) {
      if (isNewest()) throw error;
      return undefined;
    }
  }
}
