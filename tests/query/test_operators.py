"""Every operator of the query language is a module with one node, which executes and has `repr` and `explain`."""

import importlib
import inspect
import pkgutil

import pytest

from clew import open as open_run
from clew.query import operators
from clew.query.plan import Node

QUERIES = {
    "Events": lambda run: run.events,
    "ByNumber": lambda run: run.slice(0, 1),
    "Requests": lambda run: run.requests.named("Write"),
    "Gaps": lambda run: run.gaps,
    "Machines": lambda run: run.machines,
    "Strands": lambda run: run.strands,
    "Where": lambda run: run.events.where(kind="log"),
    "OrderBy": lambda run: run.events.order_by("-ts"),
    "Limit": lambda run: run.events.limit(2),
    "SliceOf": lambda run: run.events.slice(),
    "Select": lambda run: run.events.select("text"),
    "GroupBy": lambda run: run.events.group_by("kind").agg(count="count"),
    "NeighboursOf": lambda run: run.events.neighbours(),
    "CategoriesOf": lambda run: run.requests.categories(),
    "Aggregate": lambda run: run.aggregate("function"),
    "PathOf": lambda run: run.events.slice().critical_path(),
    "CostPathOf": lambda run: run.events.slice().costliest_path(vertex_cost=lambda event: len(event.text)),
    "Compare": lambda run: run.aggregate("function").diff(run.aggregate("function")),
}
"""A query for each operator, with the operator as the last step of its plan (events by number: the first step)."""


def nodes():
    for module in pkgutil.walk_packages(operators.__path__, f"{operators.__name__}."):
        if module.ispkg:
            continue
        of = importlib.import_module(module.name)
        yield (
            module.name,
            [
                value
                for value in vars(of).values()
                if inspect.isclass(value) and issubclass(value, Node) and value.__module__ == module.name
            ],
        )


def test_operators_have_one_node_per_module_and_a_query_here():
    assert all(len(found) == 1 for _, found in nodes())
    assert {found[0].__name__ for _, found in nodes()} == set(QUERIES)


def test_operators_implement_every_method_of_node():
    assert [found[0] for _, found in nodes() if inspect.isabstract(found[0])] == []


@pytest.mark.parametrize("name", QUERIES)
def test_operator_executes_and_has_repr_and_explain(run, name):
    client = run.process("client").thread()
    client.enter("app:call").request("Write").log("hello").exit("app:call")
    opened = open_run(run.write())
    query = QUERIES[name](opened)
    chain = [query.node]
    while not type(chain[-1]).__name__ == name and hasattr(chain[-1], "source"):
        chain.append(chain[-1].source)
    assert type(chain[-1]).__name__ == name
    assert query.node.execute() is not None
    assert repr(query).startswith(f"run({opened.info.id!r}).")
    assert query.explain(counts=True).splitlines()[0].endswith(")")
    assert query.node.gathered().spell() == repr(query)
