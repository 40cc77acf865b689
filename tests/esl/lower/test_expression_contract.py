"""The traced process compiles every lowered expression of every valid spec."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from clew.esl import compile_text
from clew.instrument.probes.actions.expressions import compile_expression, names
from clew.records.plan import plan as plans
from clew.records.plan.plan import Expr, Plan


def expressions(plan: Plan) -> Iterator[Expr]:
    for rule in plan.rules:
        for action in rule.actions:
            yield from (
                each for each in (action.key, action.carrier, action.condition, *action.values) if each is not None
            )


def test_compile_expression_accepts_every_expression_of_valid_specs(specs: dict[str, str]) -> None:
    count = 0
    for name, text in specs.items():
        plan = plans.load(plans.dump(compile_text(text, name, "/").require()), name)
        for expression in expressions(plan):
            compile_expression(expression, {each: index for index, each in enumerate(sorted(names(expression)))})
            count += 1
    assert count > 40


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("message.id", 17),
        ("(message.id, this)", (17, "me")),
        ("message.body['a'][1]", "y"),
        ("message.body.get('b', 'none') + '!'", "none!"),
        ("1 + 2 * 3 - 4 / 2 % 2", 7.0),
        ("-message.id", -17),
        ("-1 - -2", 1),
        ("0 < message.id <= 17", True),
        ("0 < message.id < 17", False),
        ("not message.id == 17 or message.id in (1, 17) and 'x' not in 'abc'", True),
        ("message.none is None", True),
        ("message.none is not None", False),
        ("len(message.body) * 2", 2),
        ("str(message.id).startswith('1')", True),
        ("int('12') + 1", 13),
        ("type(message.body)", "dict"),
        ("unsafe this.title().lower()", "me"),
        ("unsafe (message.body.keys() == None)", False),
    ],
)
def test_compiled_expression_has_the_value_of_python(text: str, wanted: object) -> None:
    plan = compile_text(f"payload a:f value {text};", workspace="/").require()
    expression = json.loads(json.dumps(plan.rules[0].actions[0].key))
    message = SimpleNamespace(id=17, body={"a": "xyz"}, none=None)
    slots = defaultdict(int, {"message": 0, "this": 1})
    assert compile_expression(expression, slots)([message, "me"]) == wanted
