"""Reading and rendering a program's objects without running their code."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import inspect
import tracemalloc
import typing

import pytest

from clew.instrument.probes.actions.values import attribute, render, truth


class Ran(Exception):
    pass


class Hostile:
    """Runs code at every access."""

    def _run(self, *arguments):
        raise Ran

    __getattr__ = __eq__ = __repr__ = __str__ = __len__ = __bool__ = __iter__ = __getitem__ = __index__ = _run
    __hash__ = None


class Plain:
    shared = 7

    def __init__(self):
        self.own = 1

    @property
    def computed(self):
        raise Ran

    def method(self):
        raise Ran

    @functools.cached_property
    def lazy(self):
        return 5


class Slotted:
    __slots__ = ("here", "unset")

    def __init__(self):
        self.here = 2


class Sneaky(Plain):
    def __getattribute__(self, name):
        raise Ran


class Shadow:
    @property
    def __dict__(self):
        raise Ran


class Derived(dict):
    def __getitem__(self, key):
        raise Ran


Point = collections.namedtuple("Point", "x y")


class Typed(typing.NamedTuple):
    left: int


@dataclasses.dataclass
class Data:
    field: int
    default: int = 3


@dataclasses.dataclass(slots=True)
class SlottedData:
    field: int


class Colour(enum.Enum):
    RED = 1


class Meta(type):
    def __getattribute__(cls, name):
        raise Ran


class OfMeta(metaclass=Meta):
    inside = 4


FOUND = [
    (Plain(), "own", 1),
    (Plain(), "shared", 7),
    (Slotted(), "here", 2),
    (Point(1, 2), "y", 2),
    (Typed(5), "left", 5),
    (Data(1), "field", 1),
    (Data(1), "default", 3),
    (SlottedData(6), "field", 6),
    (Colour.RED, "value", 1),
    (Colour.RED, "name", "RED"),
    (KeyError(1, 2), "args", (1, 2)),
    (OSError(2, "no"), "errno", 2),
    (StopIteration(3), "value", 3),
    (inspect, "CO_NESTED", 16),
    (Plain, "shared", 7),
]


@pytest.mark.parametrize("value, name, expected", FOUND, ids=[f"{type(v).__name__}-{n}" for v, n, _ in FOUND])
def test_attribute_reads_values_of_instances_and_classes(value, name, expected):
    assert attribute(value, name) == expected


def test_attribute_does_not_call_getattribute():
    sneaky = Sneaky.__new__(Sneaky)
    object.__setattr__(sneaky, "own", 9)
    assert attribute(sneaky, "own") == 9


def test_attribute_and_render_do_not_call_the_metaclass():
    assert attribute(OfMeta, "inside") == 4
    assert attribute(OfMeta(), "inside") == 4
    assert render(OfMeta(), 100)[0].startswith("<OfMeta at")


def test_attribute_reads_cached_property_only_after_computation():
    plain = Plain()
    with pytest.raises(TypeError):
        attribute(plain, "lazy")
    assert plain.lazy == 5
    assert attribute(plain, "lazy") == 5


@pytest.mark.parametrize(
    "kind, name",
    [
        (Plain, "computed"),
        (Plain, "method"),
        (Plain, "absent"),
        (Slotted, "unset"),
        (Hostile, "x"),
        (Shadow, "x"),
        (int, "absent"),
        (list, "x"),
    ],
)
def test_attribute_that_needs_code_of_the_program_is_refused(kind, name):
    with pytest.raises((TypeError, AttributeError)):
        attribute(kind(), name)


@pytest.mark.parametrize("value", [value for value, _, _ in FOUND], ids=lambda value: type(value).__name__)
def test_attribute_equals_getattr_static(value):
    for name in ("own", "shared", "field", "default", "inside", "missing"):
        static = inspect.getattr_static(value, name, None)
        if static is None or hasattr(type(static), "__get__"):
            continue
        assert attribute(value, name) == static


def test_truth_accepts_only_builtins():
    assert truth([1]) and not truth("") and truth(1.5) and not truth(None) and not truth({})
    for value in (Hostile(), Derived(), Plain()):
        with pytest.raises(TypeError):
            truth(value)


@pytest.mark.parametrize(
    "value, text",
    [
        ("a\nb", "a\nb"),
        (12, "12"),
        (None, "None"),
        (b"x", "b'x'"),
        ([1, "a"], "[1, 'a']"),
        ((1,), "(1,)"),
        ((), "()"),
        ({1}, "{1}"),
        (set(), "set()"),
        (frozenset({1}), "frozenset({1})"),
        ({"a": [1.5]}, "{'a': [1.5]}"),
        (ValueError("no", 1), "ValueError('no', 1)"),
        (1 << 5000, "<int of 5001 bits>"),
        ([[[[1]]]], None),
    ],
)
def test_render_builtins_as_their_repr(value, text):
    found, cut = render(value, 100)
    assert not cut
    if text is None:
        assert found.startswith("[[[<list at 0x")
    else:
        assert found == text


def test_render_other_objects_by_class_and_address():
    hostile = Hostile()
    assert render(hostile, 100)[0] == f"<Hostile at {id(hostile):#x}>"
    assert render([hostile, Derived()], 100)[0].startswith("[<Hostile at ")


def test_render_large_value_is_truncated_at_the_limit():
    for value in (
        "x" * 10**6,
        b"x" * 10**6,
        list(range(10**6)),
        dict.fromkeys(range(1000), "y" * 1000),
        [["z" * 999] * 99] * 99,
    ):
        text, cut = render(value, 50)
        assert len(text) == 50 and cut


MANY = range(200_000)
NESTED = {i: {j: dict.fromkeys(range(20), "x" * 5000) for j in range(20)} for i in range(20)}


@pytest.mark.parametrize(
    "value", [list(MANY), tuple(MANY), set(MANY), frozenset(MANY), dict.fromkeys(MANY), ValueError(*MANY), NESTED]
)
def test_render_large_value_allocates_only_for_shown_text(value):
    render(value, 1000)
    tracemalloc.start()
    try:
        render(value, 1000)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 200_000


def test_render_list_that_contains_itself_ends():
    knot = []
    knot.append(knot)
    assert render(knot, 100)[0].startswith("[[[<list at")
