/** Navigation into containers and out again, also while an answer is pending. */
import { expect, test } from "vitest";
import type { EntitiesQuestion } from "../../../../src/panel/views/entities/question";
import { ContainerNavigation } from "../../../../src/panel/views/entities/container";
import type { EntitiesResult } from "../../../../src/shared/protocol";

/** Makes a navigation at a question; `now` returns the container of the last question. */
function asked(question: EntitiesQuestion): { inside: ContainerNavigation; now: () => number | undefined } {
  const context = {
    question,
    ask(next: EntitiesQuestion): void {
      context.question = next;
    },
  };
  const player = { following: false, state: { moment: 7 } };
  return { inside: new ContainerNavigation(context as never, player as never), now: () => context.question.inside };
}

const shown = (...entities: number[]): EntitiesResult =>
  ({ around: entities.map((entity) => ({ entity, name: `${entity}` })) }) as unknown as EntitiesResult;

test("container navigation out() leaves one container each time, also before the answer", () => {
  const { inside, now } = asked({ inside: 3 });
  const answer = shown(1, 2, 3);
  inside.out(answer);
  expect(now()).toBe(2);
  inside.out(answer);
  expect(now()).toBe(1);
  inside.out(answer);
  expect(now()).toBeUndefined();
  inside.out(answer);
  expect(now()).toBeUndefined();
});

test("container navigation out() of a container without answer returns to the shown one", () => {
  const { inside, now } = asked({ inside: 2 });
  inside.enter(3);
  expect(now()).toBe(3);
  inside.out(shown(1, 2));
  expect(now()).toBe(2);
  const top = asked({});
  top.inside.enter(1);
  top.inside.out(shown());
  expect(top.now()).toBeUndefined();
});
