"""Compare filters, order, groups and measures of events with DuckDB over the same rows, and with plain Python."""

from __future__ import annotations

import math
import random
import statistics

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.query.api import Run, open_run
from clew.query.fields import FIELDS
from clew.records.errors import ClewError
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, save_run
from tests.support.examples import examples
from tests.support.runs.records import RunFolder

NUMBERS = sorted(name for name, field in FIELDS.items() if field.is_number and field.has is None)
TEXTS = sorted(name for name, field in FIELDS.items() if not field.is_number and name != "level")
OPERATORS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@pytest.fixture(scope="module")
def noisy(tmp_path_factory) -> Run:
    """Return a run with hundreds of events of all kinds in two processes, many at the same time."""
    base = tmp_path_factory.mktemp("noisy")
    folder, info = create_run(base, name="noisy", command=["python"], spec="", plan=dump(Plan()), cwd=base)
    save_run(folder, info)
    run, chance = RunFolder(folder, info), random.Random(7)
    threads = [run.process(name).thread(thread) for name, thread in [("client", "MainThread"), ("server", "worker")]]
    for number in range(120):
        thread, name = chance.choice(threads), chance.choice(["api:Api.get", "disk:read", "disk:write"])
        run.clock.step = chance.choice([0, 0, 10, 1000])
        thread.enter(name)
        if number % 3:
            thread.log(
                f"line {number % 11} it's", level=chance.choice([10, 20, 25, 40]), function=name, line=number % 7
            )
        if number % 5 == 0:
            thread.send(number % 4, channel=chance.choice(["queue", "message"]))
        thread.exit(name)
    return open_run(run.write())


@pytest.fixture(scope="module")
def sql(noisy):
    """Return a DuckDB connection to the same events, numbered in time order."""
    connection = duckdb.connect()
    connection.register("given", noisy.events.to_arrow())
    connection.execute("create table events as select *, row_number() over () as place from given")
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def present(noisy):
    """Return the values of each field."""
    return {name: sorted({row[0] for row in noisy.events.select(name)}) for name in NUMBERS + TEXTS}


def quoted(value: object) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


@st.composite
def condition(draw, values: dict[str, list]):
    """Return a condition for `where`, and the same condition in SQL."""
    name = draw(st.sampled_from(NUMBERS + TEXTS))
    present = values[name]
    value = draw(st.sampled_from(present))
    how = draw(st.sampled_from(["in", *OPERATORS, *(["contains", "startswith", "endswith"] if name in TEXTS else [])]))
    if how in OPERATORS:
        return {f"{name}__{how}": value}, f"{name} {OPERATORS[how]} {quoted(value)}"
    if how == "in":
        several = draw(st.lists(st.sampled_from(present), min_size=1, max_size=4))
        return {f"{name}__in": several}, f"{name} in ({', '.join(map(quoted, several))})"
    part = value[1:4] if how == "contains" else value[:3] if how == "startswith" else value[-3:]
    function = {"contains": "contains", "startswith": "starts_with", "endswith": "ends_with"}[how]
    return {f"{name}__{how}": part}, f"{function}({name}, {quoted(part)})"


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_where_order_by_limit_and_group_by_equal_sql(noisy, sql, present, data):
    query, clauses = noisy.events, ["true"]
    for conditions, clause in data.draw(st.lists(condition(present), max_size=3)):
        query, clauses = query.where(**conditions), [*clauses, clause]
    where = " and ".join(clauses)
    name = data.draw(st.sampled_from([None, *NUMBERS, *TEXTS]))
    down = data.draw(st.booleans())
    count = data.draw(st.none() | st.integers(0, 40))
    chosen, order = query, "place"
    if name is not None:
        chosen, order = chosen.order_by("-" * down + name), f"{name} {'desc' if down else 'asc'}, place"
    if count is not None:
        chosen = chosen.limit(count)
    limit = "" if count is None else f" limit {count}"
    expected = [
        row[0] for row in sql.execute(f"select id from events where {where} order by {order}{limit}").fetchall()
    ]
    assert chosen.ids().tolist() == expected

    by = data.draw(st.lists(st.sampled_from(["kind", "level", "function", "line", "process"]), unique=True, max_size=3))
    measures = {
        "n": "count", "total": ("sum", "ts"), "least": ("min", "ts"), "most": ("max", "text"), "mean": ("mean", "line"),
        "p": ("quantile", "ts", 0.3), "kinds": ("distinct", "channel"),
    }  # fmt: skip
    groups = (query.group_by(*by) if by else query).agg(**measures)
    fields = "".join(f"{field}, " for field in by)
    text = (
        f"select {fields}count(*), sum(ts), min(ts), max(text), avg(line), quantile_cont(ts, 0.3), count(distinct channel) "
        f"from events where {where}" + (f" group by {', '.join(by)} order by {', '.join(by)}" if by else "")
    )
    found, wanted = [tuple(row) for row in groups], sql.execute(text).fetchall()
    assert len(found) == len(wanted)
    for mine, theirs in zip(found, wanted, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            same = math.isclose(one, other) if isinstance(other, float) else one == other
            assert same, (mine, theirs)


def test_group_by_measures_of_calls_use_only_enter_events(noisy):
    calls, graph = noisy.graph.calls, noisy.graph
    longest = {}
    for enter, total in zip(calls.enter.tolist(), calls.total_ns.tolist(), strict=True):
        longest.setdefault(graph.function(enter), []).append(total)
    groups = noisy.events.group_by("function").agg(
        mean=("mean", "total_ns"), least=("min", "total_ns"), p95=("quantile", "total_ns", 0.5)
    )
    for row in groups:
        assert row.mean == pytest.approx(statistics.fmean(longest[row.function]))
        assert row.least == min(longest[row.function])
        assert row.p95 == pytest.approx(statistics.median(longest[row.function]))
    assert noisy.events.where(total_ns__ge=0).count() == len(calls.enter)


def test_group_by_group_without_the_field_is_null_and_last(noisy):
    groups = noisy.events.group_by("kind").agg(longest=("max", "total_ns"), n="count")
    assert {row.kind for row in groups if row.longest is None} == {"exit", "log", "send"}
    assert next(iter(groups.order_by("longest"))).kind == next(iter(groups.order_by("-longest"))).kind == "enter"
    assert groups.to_arrow().column("longest").null_count == 3
    assert noisy.events.where(kind="log").agg(longest=("max", "total_ns"), n="count").first()[0] is None
    assert tuple(noisy.events.where(text="nowhere").agg(n="count", sum=("sum", "ts")).first()) == (0, None)
    assert list(noisy.events.where(text="nowhere").group_by("kind").count()) == []


def test_groups_order_by_is_stable_and_limit_cuts(noisy):
    groups = noisy.events.group_by("kind", "process").count()
    rows = [tuple(row) for row in groups]
    by_hand = sorted(sorted(rows, key=lambda row: row[0], reverse=True), key=lambda row: row[1])
    assert [tuple(row) for row in groups.order_by("-kind").order_by("process")] == by_hand
    assert [tuple(row) for row in groups.order_by("-kind").order_by("process").limit(3).limit(9)] == by_hand[:3]
    assert groups.order_by("-count").limit(0).first() is None
    assert groups.to_pandas()["count"].sum() == len(noisy.graph)


@pytest.mark.parametrize("sample", [2, 5, 50])
def test_order_by_with_limit_by_sample_equals_full_order(noisy, monkeypatch, sample):
    monkeypatch.setattr("clew.query.operators.events.order_by.SAMPLE", sample)
    for field in ("ts", "-line", "text"):
        whole = noisy.events.order_by(field).ids().tolist()
        for count in (0, 1, 2, 7, 30, len(whole) - 1, len(whole) + 3):
            assert noisy.events.order_by(field).limit(count).ids().tolist() == whole[:count]
            assert noisy.events.limit(count).ids().tolist() == noisy.events.ids().tolist()[:count]


def test_group_by_path_for_many_groups_equals_path_for_few(noisy, monkeypatch):
    groups = noisy.events.group_by("line", "kind").agg(
        p=("quantile", "ts", 0.7), n=("distinct", "text"), most=("max", "ts")
    )
    few = [tuple(row) for row in groups]
    monkeypatch.setattr("clew.query.operators.answers.group_by.MANY", 1)
    again = noisy.events.group_by("line", "kind").agg(
        p=("quantile", "ts", 0.7), n=("distinct", "text"), most=("max", "ts")
    )
    assert [tuple(row) for row in again] == few


def test_agg_sum_beyond_64_bits_is_exact(noisy):
    noisy.graph.ts[:] += 1 << 60
    try:
        assert noisy.events.agg(sum=("sum", "ts")).first().sum == sum(noisy.graph.ts.tolist())
    finally:
        noisy.graph.ts[:] -= 1 << 60


def test_group_by_repr_is_as_written(noisy):
    groups = noisy.events.where(kind="log").group_by("level", "module").agg(n="count", p95=("quantile", "line", 0.95))
    text = (
        f"run({noisy.info.id!r}).events.where(kind='log').group_by('level', 'module')"
        ".agg(n='count', p95=('quantile', 'line', 0.95)).order_by('-n').limit(2)"
    )
    assert repr(groups.order_by("-n").limit(2)) == text
    assert repr(noisy.events.agg(n="count")) == f"run({noisy.info.id!r}).events.agg(n='count')"
    assert groups == noisy.events.where(kind="log").group_by("level", "module").agg(
        n="count", p95=("quantile", "line", 0.95)
    )


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda events: events.group_by(), "name the fields to group by, or write .agg(…) for all events"),
        (lambda events: events.group_by("levl"), "did you mean 'level'?"),
        (lambda events: events.group_by("kind", "kind"), "a field is named twice"),
        (lambda events: events.group_by("kind").agg(), 'write .group_by(FIELD).agg(count="count")'),
        (lambda events: events.agg(n="median"), 'a measure is "count" or one of ("sum", FIELD)'),
        (lambda events: events.agg(n=3), 'a measure is "count" or one of'),
        (lambda events: events.agg(n=("sum", "text")), 'text is text and has no sum; write ("distinct", '),
        (lambda events: events.agg(n=("sum", "tss")), "did you mean 'ts'?"),
        (lambda events: events.agg(n=("sum", "ts", 3)), "only a quantile has a third part"),
        (lambda events: events.agg(n=("quantile", "ts")), "give the quantile, from 0 to 1"),
        (lambda events: events.agg(n=("quantile", "ts", 95)), "give the quantile, from 0 to 1"),
        (lambda events: events.group_by("kind").agg(kind="count"), "give the measure another name"),
        (
            lambda events: events.group_by("kind").count().order_by("n"),
            "these groups have no 'n'; they have kind, count",
        ),
        (lambda events: events.group_by("kind").count().limit(2).order_by("count"), "write .order_by(…).limit(…)"),
        (lambda events: events.group_by("kind").count().limit(-2), "give 0 or more"),
        (lambda events: events.group_by("kind").count().where(count=3), "write .where(…).group_by(FIELD)"),
        (lambda events: events.select("kind").group_by("kind"), "write .group_by(…) before .select(…)"),
        (lambda events: events.where(total_ns="3"), "total_ns is a number"),
    ],
)
def test_group_by_invalid_call_is_refused_with_advice(noisy, ask, message):
    with pytest.raises(ClewError) as refused:
        ask(noisy.events)
    assert message in str(refused.value)
