/** Answers may overtake one another: of what is asked again whenever it may have changed, only the newest one counts. */

export class Newest {
  private asked = 0;

  /** What is answered; undefined when it was asked again meanwhile, whether it is answered or fails. */
  async of<T>(answer: Promise<T>): Promise<T | undefined> {
    const number = ++this.asked;
    try {
      const found = await answer;
      return number === this.asked ? found : undefined;
    } catch (error) {
      if (number === this.asked) throw error;
      return undefined;
    }
  }
}
