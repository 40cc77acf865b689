"""A chain shows the ways to lines that other evidence finds likely, and says how many steps of a long way it leaves out."""

import pytest

from clew.graph.values.chain import chain_of
from clew.graph.values.criteria import of_expression
from clew.graph.values.guide import Guide
from clew.graph.values.slice_distance import slice_distances
from clew.server.text.value_chain import ValueWords
from tests.support.programs.second_look import Looked

LAYERS = 16
LONG_WAY = (
    "def start(number):\n    return number + 1  # start\n\n\n"
    + "def layer0(number):\n    return start(number) * 2\n\n\n"
    + "".join(
        f"def layer{at}(number):\n    extra{at} = number + {at}\n    return layer{at - 1}(extra{at}) + extra{at}\n\n\n"
        for at in range(1, LAYERS)
    )
    + "def kept(number):\n    return number  # kept\n\n\n"
    + f"def total(number):\n    deep = layer{LAYERS - 1}(number)\n    whole = kept(deep) + number\n"
    + "    return whole  # here\n\n\n"
    + "total(1)\n"
)


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    return Looked(tmp_path_factory.mktemp("values"), LONG_WAY)


def chain(looked, marks, most=12):
    """Return the chain of `whole` with ways to marked lines, and its sentences by line."""
    flow, statements = looked.flow()
    file = str(looked.file)
    criterion = of_expression(flow, statements, "whole", file, looked.line("here"))
    distances = slice_distances(flow, criterion.nodes)
    ways = [distances.way_to(file, looked.line(mark)) for mark in marks]
    made = chain_of(flow, statements, list(criterion.nodes), most, ways)
    words = ValueWords(flow, statements)
    return made, {flow.line_of(step.node): words.sentence(step) for step in made.steps}


def test_without_a_way_only_near_steps_are_shown(looked):
    made, told = chain(looked, [])
    assert len(made.steps) == 12 and made.more
    assert looked.line("start") not in told
    assert not any(step.skipped for step in made.steps)


def test_likely_line_far_away_is_shown_with_the_number_of_steps_left_out(looked):
    made, told = chain(looked, ["start"])
    assert len(made.steps) == 12
    sentence = told[looked.line("start")]
    (skipped,) = (step.skipped for step in made.steps if step.skipped)
    assert "start(121) returned 122, because number is 121" in sentence
    assert any(f"{skipped} steps further back: " in one for one in told.values())


def test_whole_way_is_shown_where_there_is_room(looked):
    made, told = chain(looked, ["start"], most=300)
    assert looked.line("start") in told
    assert not any(step.skipped for step in made.steps)


def test_likely_line_that_only_passes_a_value_on_is_a_step(looked):
    assert looked.line("kept") in chain(looked, ["kept"])[1]


def test_likelier_line_comes_before_another_one_where_only_one_has_room(looked):
    first = [chain(looked, marks, most=2)[1] for marks in (["start", "kept"], ["kept", "start"])]
    assert [looked.line("start") in told for told in first] == [True, False]
    assert [looked.line("kept") in told for told in first] == [False, True]


def test_line_that_the_value_does_not_depend_on_has_no_way(looked):
    flow, statements = looked.flow()
    criterion = of_expression(flow, statements, "whole", str(looked.file), looked.line("here"))
    assert slice_distances(flow, criterion.nodes).way_to(str(looked.file), 10_000) == ()


def test_way_of_one_node_guides_nowhere(looked):
    flow, _ = looked.flow()
    guide = Guide(flow, [(1,)])
    assert list(guide.next(1)) == [] and guide.targets == {1: 0}
