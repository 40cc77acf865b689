"""Answers are rendered as images, as tables in a terminal and in a notebook, and as networkx graphs."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import networkx as nx
import pytest
import rich.console
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.render.layered_layout import layered
from clew.graph.render.svg import Box, Line, draw
from clew.query.api import Run, open_run
from tests.support.examples import examples
from tests.support.runs.query_run import store

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def opened(run) -> Run:
    return store(run)


def terminal(thing: object) -> str:
    console = rich.console.Console(file=io.StringIO(), width=200)
    console.print(thing)
    return console.file.getvalue()


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 12).flatmap(lambda n: st.tuples(
    st.just(n), st.lists(st.tuples(*[st.integers(0, max(n - 1, 0))] * 2), max_size=20 if n else 0))))  # fmt: skip
def test_layered_layout_places_are_unique_and_causes_are_left(drawn):
    nodes, edges = drawn
    places = layered(nodes, edges)
    assert len(set(places)) == len(places) == nodes
    graph = nx.DiGraph([edge for edge in edges if edge[0] != edge[1]])
    if nx.is_directed_acyclic_graph(graph):
        assert all(places[a][0] < places[b][0] for a, b in graph.edges)
    else:
        assert all(places[a][0] != places[b][0] for a, b in graph.edges)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.tuples(st.text(max_size=60), st.text(max_size=40)), max_size=8), st.data())
def test_drawing_with_any_labels_is_well_formed(labels, data):
    end = st.integers(0, max(len(labels) - 1, 0))
    lines = data.draw(
        st.lists(st.tuples(end, end, st.sampled_from(["use", "call", "next"])), max_size=9 if labels else 0)
    )
    image = ElementTree.fromstring(draw([Box(*label, 1) for label in labels], [Line(*line) for line in lines]))
    assert len(image.findall(f"{SVG}g")) == len(labels)
    width, height = float(image.get("width")), float(image.get("height"))
    for box in image.iter(f"{SVG}rect"):
        assert 0 <= float(box.get("x")) and float(box.get("x")) + float(box.get("width")) <= width
        assert 0 <= float(box.get("y")) and float(box.get("y")) + float(box.get("height")) <= height


def test_drawing_of_large_graph_has_its_largest_nodes_and_a_note():
    image = ElementTree.fromstring(
        draw([Box(f"n{number}", "", number) for number in range(201)], [Line(0, 200, "use")])
    )
    titles = {title.text for title in image.iter(f"{SVG}title")}
    assert titles == {f"n{number}" for number in range(161, 201)}
    assert "201 nodes; the 40 largest are drawn" in "".join(image.itertext())
    whole = ElementTree.fromstring(draw([Box(f"n{number}", "", number) for number in range(200)], []))
    assert len(whole.findall(f"{SVG}g")) == 200


def test_drawing_cuts_long_label_and_tooltip_has_all_of_it():
    note = "12 calls, 3.00 ms of its own, 17.20 ms in all"
    image = ElementTree.fromstring(draw([Box("package.module:Class.method_with_a_long_name", note, 1)], []))
    assert [text.text for text in image.iter(f"{SVG}text")] == [
        "package.mod…a_long_name",
        "12 calls, 3.00 ms of its own, 17.…",
    ]
    assert [title.text for title in image.iter(f"{SVG}title")] == [
        f"package.module:Class.method_with_a_long_name\n{note}"
    ]
    short = ElementTree.fromstring(draw([Box("package.module:function", "", 1)], []))
    assert [text.text for text in short.iter(f"{SVG}text")] == ["package.module:function"]


BREADTHS = {" ": 0.318, "a": 0.613, "d": 0.635, "f": 0.352, "i": 0.278, "m": 0.974, "r": 0.411, "t": 0.392, "w": 0.818,
    "z": 0.525, "A": 0.684, "I": 0.295, "J": 0.295, "M": 0.863, "O": 0.787, "Q": 0.787, "W": 0.989, "0": 0.636, "_": 0.5,
    ":": 0.337, "(": 0.39, "%": 0.95, "@": 1.0, "é": 0.615, "щ": 0.958, "…": 1.0, "語": 1.0}  # fmt: skip
"""Widths of some letters in DejaVu Sans, one of the broadest screen fonts, in units of the font size."""


@given(
    st.text(st.sampled_from(sorted(BREADTHS)), max_size=120), st.text(st.sampled_from(sorted(BREADTHS)), max_size=120)
)
def test_drawing_text_fits_in_its_node(label, note):
    image = ElementTree.fromstring(draw([Box(label, note, 1)], []))
    (box,) = image.iter(f"{SVG}rect")
    end = float(box.get("x")) + float(box.get("width"))
    for text in image.iter(f"{SVG}text"):
        size = float(text.get("font-size") or image.get("font-size"))
        assert float(text.get("x")) + size * sum(BREADTHS[mark] for mark in text.text or "") <= end


def test_notebook_shows_graphs_as_image_and_table(opened):
    cut = opened.requests.named("Read").slice()
    assert len(ElementTree.fromstring(cut._repr_svg_()).findall(f"{SVG}g")) == cut.count()
    functions = cut.aggregate("function")
    names = {title.text.split("\n")[0] for title in ElementTree.fromstring(functions._repr_svg_()).iter(f"{SVG}title")}
    assert names == {node.label for node in functions}
    path = cut.critical_path()
    assert len(ElementTree.fromstring(path._repr_svg_()).findall(f"{SVG}g")) == path.count()
    for graph in (cut, functions, path):
        assert graph._repr_html_().startswith("<svg") and graph._repr_html_().count("<table>") == 1


def test_tables_are_escaped_and_limited_with_row_count(run):
    thread = run.process().thread()
    for number in range(30):
        thread.log(f"<b>{number}</b> [bold]x[/bold]")
    events = open_run(run.write()).events
    html = events.select("text", "id")._repr_html_()
    assert html.count("<tr>") == 21 and "30 rows; the first 20 are shown" in html
    assert "&lt;b&gt;0&lt;/b&gt;" in html and "<b>" not in html
    shown = terminal(events)
    assert "[bold]x[/bold]" in shown and "30 rows; the first 20 are shown" in shown
    assert "rows; the first" not in terminal(events.limit(3))


@pytest.mark.parametrize(
    "ask",
    [
        lambda run: run.events,
        lambda run: run.requests.categories(),
        lambda run: run.events.group_by("kind").agg(n="count", longest=("mean", "total_ns")),
        lambda run: run.events.where(kind="send").neighbours(),
        lambda run: run.requests.slice(),
        lambda run: run.requests.slice().aggregate("function"),
        lambda run: run.requests.slice().critical_path(),
        lambda run: run.aggregate("function").diff(run.aggregate("function")),
    ],
)
def test_every_answer_has_a_table_in_terminal_and_notebook(opened, ask):
    query = ask(opened)
    table = query.to_arrow()
    assert table.num_rows == query.count() == len(query.to_pandas())
    shown = terminal(query)
    assert shown.startswith(repr(query)[:60])
    for name in query._head()[0].names:
        assert name[:4] in shown
    assert query._repr_html_().count("<tr>") == min(table.num_rows, 20) + 1


def test_slice_to_networkx_is_graph_of_its_events(opened):
    cut = opened.events.where(level="ERROR").slice("backward")
    graph = cut.to_networkx()
    assert sorted(graph) == sorted(cut.ids().tolist())
    (error,) = opened.events.where(level="ERROR").ids().tolist()
    assert nx.ancestors(graph, error) | {error} == set(graph)
    assert {data["edge"] for _, _, data in graph.edges(data=True)} - {-1} == set(cut.edges().tolist())
    assert graph.nodes[error]["text"] == "Write request failed: chunk 7"


def test_critical_path_to_networkx_is_a_chain(opened):
    path = opened.requests.slice().critical_path()
    graph = path.to_networkx()
    assert nx.dag_longest_path_length(graph, weight=None) == path.count() - 1
    assert [data["label"] for _, data in graph.nodes(data=True)] == [segment.label for segment in path]


def test_explain_counts_shows_size_of_each_step(opened):
    plan = opened.events.where(kind="log", level="ERROR").slice("backward").aggregate("function").explain(counts=True)
    cut = opened.events.where(level="ERROR").slice("backward")
    nodes, edges = len(cut.aggregate("function").nodes), len(cut.aggregate("function").edges)
    assert plan.split("\n") == [
        f"aggregate('function')  ({nodes} nodes, {edges} edge{'s' * (edges != 1)})",
        f"   slice('backward')  ({cut.count()} events, {len(cut.edges())} edge{'s' * (len(cut.edges()) != 1)})",
        "      where(kind='log', level='ERROR')  (1 event)",
        f"         run({opened.info.id!r}).events  ({len(opened.graph)} events)",
    ]
    assert "(2 categories)" in opened.requests.categories().explain(counts=True)
