"""Annotations in the program: their records, and that they do nothing without a recording."""

from __future__ import annotations

from collections import Counter

from clew.records.format.event import Kind
from clew.records.format.keys import key_of


def calls(run):
    return [
        (placed.event.kind.name, placed.site.qualname)
        for placed in run.of(Kind.ENTER, Kind.EXIT, Kind.UNWIND, Kind.SUSPEND, Kind.RESUME)
    ]


def test_scope_annotation_is_a_call_at_an_annotation_site(record):
    run = record(
        """
        import clew

        with clew.scope("outer"):
            with clew.scope("inner"): pass
        try:
            with clew.scope("failing"): raise KeyError
        except KeyError: pass
        reused = clew.scope("reused")
        with reused:
            with reused: pass
        """,
        rules=False,
    )
    assert calls(run) == [
        ("ENTER", "outer"), ("ENTER", "inner"), ("EXIT", "inner"), ("EXIT", "outer"),
        ("ENTER", "failing"), ("UNWIND", "failing"),
        ("ENTER", "reused"), ("ENTER", "reused"), ("EXIT", "reused"), ("EXIT", "reused"),
    ]  # fmt: skip
    site = run.of(Kind.ENTER)[0].site
    assert (site.kind, site.module, site.line) == ("annotation", "program", 4)


def test_scope_decorator_returns_the_same_function_of_any_kind(record):
    run = record(
        """
        import asyncio, clew, inspect

        def plain(x, /, *, y=1): return x
        same = clew.scope(plain)
        assert same is plain and str(inspect.signature(plain)) == "(x, /, *, y=1)"

        @clew.scope("renamed")
        def named(): raise ValueError

        @clew.scope
        def generate():
            yield 1

        @clew.scope
        async def wait(): await asyncio.sleep(0)

        class Thing:
            @clew.scope
            @staticmethod
            def static(): return 2
            @classmethod
            @clew.scope
            def of_class(cls): return 3

        assert inspect.iscoroutinefunction(wait) and inspect.isgeneratorfunction(generate)
        plain(1)
        try: named()
        except ValueError: pass
        assert list(generate()) == [1]
        asyncio.run(wait())
        assert (Thing.static(), Thing.of_class()) == (2, 3)
        assert clew.scope(len)("abc") == 3
        """,
        rules=False,
        adapters=(),
    )
    assert run.code == 0, run.stderr
    assert calls(run) == [
        ("ENTER", "plain"), ("EXIT", "plain"),
        ("ENTER", "renamed"), ("UNWIND", "renamed"),
        ("ENTER", "generate"), ("SUSPEND", "generate"), ("RESUME", "generate"), ("EXIT", "generate"),
        ("ENTER", "wait"), ("SUSPEND", "wait"), ("RESUME", "wait"), ("EXIT", "wait"),
        ("ENTER", "Thing.static"), ("EXIT", "Thing.static"),
        ("ENTER", "Thing.of_class"), ("EXIT", "Thing.of_class"),
    ]  # fmt: skip


def test_scope_decorator_on_function_of_a_rule_records_it_once(record):
    run = record("import clew\n@clew.scope\ndef work(): pass\nwork()\n")
    assert calls(run) == [("ENTER", "work"), ("EXIT", "work")]


def test_send_and_use_annotations_pair_by_value(record):
    run = record(
        """
        import clew

        def give(value): clew.send("jobs", value)
        def take(value): clew.use("jobs", value)
        def take_other(): clew.use("other", 1)

        item = object()
        for value in (1, "1", (1, "a"), None, item):
            give(value)
            take(value)
        give(2)
        take(3); take_other()
        """
    )
    assert run.edges() == Counter({("jobs", "MainThread/give", "MainThread/take"): 5})
    sends, uses = run.of(Kind.SEND), run.of(Kind.RECEIVE)
    assert sends[0].key == key_of("jobs", 1) and len(sends) == 6 and len(uses) == 7
    assert sends[0].site.kind == "annotation" and sends[0].site.line == 4


def test_use_annotation_as_context_is_the_scope_of_its_block(record):
    run = record(
        """
        import clew
        from contextlib import ExitStack

        def give(): clew.send("jobs", 1)
        def work(): pass
        def take():
            with clew.use("jobs", 1): work()
            with clew.scope("other"), clew.use("jobs", 1) as nothing: assert nothing is None

        give()
        take()
        """
    )
    assert run.code == 0, run.stderr
    assert run.of(Kind.RECEIVE) == []
    assert [placed.event.kind.name for placed in run.events if placed.channel == "jobs"] == [
        "SEND", "SCOPE_BEGIN", "SCOPE_END", "SCOPE_BEGIN", "SCOPE_END",
    ]  # fmt: skip
    assert run.edges() == Counter(
        {("jobs", "MainThread/give", "MainThread/take"): 1, ("jobs", "MainThread/give", "MainThread/other"): 1}
    )


def test_mark_annotation_truncates_text_and_runs_no_code_of_the_value(record):
    run = record(
        """
        import clew

        class Loud:
            def __repr__(self): print("called"); return "loud"
            __str__ = __repr__

        clew.mark("start")
        clew.mark("size", 3)
        clew.mark("object", Loud())
        clew.mark("long", "x" * 1000)
        """
    )
    assert run.stdout == ""
    marks = [(placed.channel, placed.text) for placed in run.of(Kind.MARK)]
    assert marks[:2] == [("start", ""), ("size", "3")]
    assert marks[2][1].startswith("<Loud at ") and len(marks[3][1]) == 200


def test_annotations_without_recording_do_nothing(record):
    source = """
        import sys, clew

        @clew.scope
        def work():
            with clew.scope("part"), clew.use("jobs", 1): clew.send("jobs", 2)
            clew.use("jobs", 2); clew.mark("x"); headers = {}; clew.inject(headers); clew.extract(headers)
            return headers

        print(work(), sorted(name for name in sys.modules if name.startswith("clew.") and name.count(".") == 1))
        print([name for name in ("numpy", "pyarrow", "lark", "click", "rich", "pygls", "opentelemetry") if name in sys.modules])
        """
    run = record(source, environment={"CLEW_RUN": ""})
    assert run.code == 0, run.stderr
    assert run.stdout == "{} ['clew.instrument', 'clew.records']\n[]\n"
    assert run.processes == []


def test_annotations_with_any_argument_never_raise(record):
    run = record(
        """
        import clew

        class Rude:
            def __str__(self): raise RuntimeError("str")
            __repr__ = __hash__ = __eq__ = __len__ = __iter__ = __bool__ = __str__
            __class__ = property(__str__)

        class Text(str):
            def __str__(self): raise RuntimeError("str")
            __hash__ = __eq__ = encode = __str__

        class Headers(dict):
            def items(self): raise RuntimeError("items")

        deep = ()
        for _ in range(5000): deep = (deep,)
        odd = [None, 3, "", "\\ud800", "x" * 100_000, 10**6000, float("nan"), deep, [[]], Rude(), Rude, Text("t"), Headers()]
        for name in odd:
            for value in odd:
                clew.send(name, value)
                clew.use(name, value)
                with clew.use(name, value): pass
                clew.mark(name, value)
            clew.inject(name)
            clew.extract(name)
            if type(name) is not str: assert clew.scope(name) is name or type(name) is Text
            else:
                with clew.scope(name): pass
                clew.scope(name)(lambda: 1)()
                clew.scope(name)(name)
        with clew.scope(Text("text")): pass
        del __name__
        clew.send("nameless", 1)
        __name__ = 5
        clew.scope(lambda: 1)()
        print("alive")
        """,
        rules=False,
    )
    assert (run.code, run.stdout, run.stderr) == (0, "alive\n", "")
    assert [placed.site.module for placed in run.of(Kind.SEND) if placed.channel == "nameless"] == ["program"]


def test_annotations_with_odd_names_or_values_still_pair(record):
    run = record(
        """
        import clew

        class Text(str):
            def __str__(self): return "something else"

        deep = ()
        for _ in range(5000): deep = (deep,)
        for channel, value in (("deep", deep), (None, 1), (Text("text"), 2), ("\\ud800", 3), ("long", 10**6000)):
            clew.send(channel, value)
            clew.use(channel, value)
        """,
        rules=False,
    )
    pairs = [(source.channel, target.channel) for source, target in run.pairs()]
    assert pairs == [(name, name) for name in ("deep", "None", "text", "\ufffd\ufffd\ufffd", "long")]
