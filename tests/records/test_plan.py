"""A plan survives its JSON text; a damaged or newer one is refused by name."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.records.errors import PlanError
from clew.records.plan import PLAN_VERSION, Action, Level, LogCapture, Plan, Rule, Target, dump, load

names = st.text(min_size=1, max_size=12)
expressions = st.recursive(
    st.tuples(st.just("const"), st.none() | st.booleans() | st.integers() | names).map(list)
    | st.tuples(st.just("name"), names).map(list),
    lambda inner: st.tuples(st.just("attr"), inner, names).map(list),
    max_leaves=4,
)
# A lambda says nothing of types, so that what is not given here is left out.
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
    logs=st.none() | st.builds(LogCapture, st.integers(0, 50), st.lists(names, max_size=2).map(tuple), st.booleans()),
    levels=st.lists(
        st.builds(Level, names, st.lists(st.tuples(names, targets), max_size=2).map(tuple)), max_size=2
    ).map(tuple),
    budget=st.none() | st.floats(0.001, 1),
)


@given(plans)
def test_a_plan_survives_its_json_text(plan):
    assert load(dump(plan), "plan.json") == plan


@given(plans, st.data())
def test_every_prefix_of_a_plan_is_refused_with_its_place(plan, data):
    text = dump(plan)
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(PlanError, match=r"^plan\.json: "):
        load(text[:cut], "plan.json")


@pytest.mark.parametrize("field", ["rules", "adapters", "logs", "levels", "budget", "quota", "spec"])
def test_a_plan_without_one_of_its_fields_is_refused(field):
    data = json.loads(dump(Plan()))
    del data[field]
    with pytest.raises(PlanError, match="not a probe plan"):
        load(json.dumps(data), "plan.json")


def test_a_newer_plan_is_refused_by_its_version():
    data = json.loads(dump(Plan())) | {"version": PLAN_VERSION + 1, "rules": "something new"}
    with pytest.raises(PlanError, match="upgrade clew"):
        load(json.dumps(data), "plan.json")


def test_an_unknown_action_is_refused():
    data = json.loads(dump(Plan(rules=(Rule(Target("m", "f"), actions=(Action("send", "start"),)),))))
    data["rules"][0]["actions"][0]["kind"] = "teleport"
    with pytest.raises(PlanError, match="teleport"):
        load(json.dumps(data), "plan.json")
