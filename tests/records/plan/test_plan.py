"""A plan survives conversion to JSON text and back; a damaged or newer plan is refused by name."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.records.errors import PlanError
from clew.records.plan.plan import (
    PLAN_VERSION,
    Action,
    EntityKind,
    Level,
    LogCapture,
    Plan,
    Redact,
    Rule,
    Target,
    dump,
    load,
)

names = st.text(min_size=1, max_size=12)
expressions = st.recursive(
    st.tuples(st.just("const"), st.none() | st.booleans() | st.integers() | names).map(list)
    | st.tuples(st.just("name"), names).map(list),
    lambda inner: st.tuples(st.just("attr"), inner, names).map(list),
    max_leaves=4,
)
# A lambda has no annotations, so hypothesis leaves out fields that are not given here.
targets = st.builds(Target, names, names, st.sampled_from(["", "/project"]))
actions = st.builds(
    lambda **fields: Action(**fields),
    kind=st.sampled_from(["send", "receive", "define", "use", "payload", "entity"]),
    when=st.sampled_from(["start", "finish"]),
    channel=names,
    key=st.none() | expressions,
    each=st.booleans(),
    values=st.lists(expressions, max_size=2).map(tuple),
)
rules = st.builds(
    Rule, targets, st.lists(targets, max_size=2).map(tuple), st.lists(actions, max_size=2).map(tuple), names
)
plans = st.builds(
    lambda **fields: Plan(**fields),
    rules=st.lists(rules, max_size=3).map(tuple),
    adapters=st.lists(names, max_size=3).map(tuple),
    logs=st.none()
    | st.builds(
        lambda *fields: LogCapture(*fields),
        st.integers(0, 50),
        st.lists(names, max_size=2).map(tuple),
        st.booleans(),
        st.integers(0, 1 << 40),
        st.integers(1, 1 << 40),
    ),
    levels=st.lists(
        st.builds(Level, names, st.lists(st.tuples(names, targets), max_size=2).map(tuple)), max_size=2
    ).map(tuple),
    budget=st.none() | st.floats(0.001, 1),
)


@given(plans)
def test_plan_survives_json_round_trip(plan):
    assert load(dump(plan), "plan.json") == plan


@given(plans, st.data())
def test_plan_truncated_anywhere_is_refused_with_its_path(plan, data):
    text = dump(plan)
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(PlanError, match=r"^plan\.json: "):
        load(text[:cut], "plan.json")


@pytest.mark.parametrize("field", ["rules", "adapters", "logs", "levels", "budget", "quota", "spec"])
def test_plan_with_missing_field_is_refused(field):
    data = json.loads(dump(Plan()))
    del data[field]
    with pytest.raises(PlanError, match="not a probe plan"):
        load(json.dumps(data), "plan.json")


def test_plan_of_newer_version_is_refused():
    data = json.loads(dump(Plan())) | {"version": PLAN_VERSION + 1, "rules": "something new"}
    with pytest.raises(PlanError, match="upgrade clew"):
        load(json.dumps(data), "plan.json")


def test_plan_with_unknown_action_is_refused():
    data = json.loads(dump(Plan(rules=(Rule(Target("m", "f"), actions=(Action("send", "start"),)),))))
    data["rules"][0]["actions"][0]["kind"] = "teleport"
    with pytest.raises(PlanError, match="teleport"):
        load(json.dumps(data), "plan.json")


def places(data, place=()):
    """Yield the keys that lead to each part of a JSON document."""
    yield place
    if isinstance(data, (dict, list)):
        for key, part in data.items() if isinstance(data, dict) else enumerate(data):
            yield from places(part, (*place, key))


FULL = Plan(
    rules=(Rule(Target("m", "f"), (Target("m", "g"),), (Action("send", "start", "c", key=["name", "x"]),), "a.esl:1"),),
    adapters=("threads",),
    logs=LogCapture(10, ("app",)),
    levels=(Level("layer", (("data", Target("m", "*")),)),),
    budget=0.03,
    sample=0.5,
    entities=(EntityKind("Node", Target("m", "Node"), ["attr", ["name", "this"], "id"], ("Chunk",)),),
    redact=Redact(("token",), ("[0-9]{16}",)),
)
ODD = [None, True, -1, 1.5, 1e400, 1 << 70, "", "x", [], [[]], [None], {}, {"a": 1}]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_plan_with_wrong_value_anywhere_is_refused_or_well_typed(odd):
    text = dump(FULL)
    for *way, last in filter(None, places(json.loads(text))):
        data = json.loads(text)
        part = data
        for key in way:
            part = part[key]
        part[last] = odd
        try:
            plan = load(json.dumps(data), "plan.json")
        except PlanError as error:
            assert str(error).startswith("plan.json: ")
            continue
        for rule in plan.rules:
            for target in (rule.target, *rule.excepts):
                assert type(target.module) is type(target.qualname) is type(target.root) is str
                assert all(type(name) is str for name in target.decorators + target.classes)
            for action in rule.actions:
                assert action.when in {"start", "finish"} and type(action.limit) is type(action.most) is int
        assert all(type(name) is str for name in plan.adapters)
        assert type(plan.quota) is int and (plan.budget is None or 0 <= plan.budget < math.inf)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000, '{"version": 1e400}', "null", '"\\ud800"']
)
def test_plan_of_arbitrary_json_is_refused(text):
    with pytest.raises(PlanError, match=r"^plan\.json: "):
        load(text, "plan.json")
