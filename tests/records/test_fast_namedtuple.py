"""A class made by the fast NamedTuple behaves as a class made by `typing.NamedTuple`."""

import copy
import inspect
import pickle
import subprocess
import sys
import typing

import pytest

from clew.records import fast_namedtuple

BODY = '''
class Point(NamedTuple):
    """A place."""
    x: int
    """From the left."""
    y: float
    name: str = "p"
    tags: list[str] = []
    def sum(self):
        return self.x + self.y
    @property
    def twice(self):
        return self._replace(x=2 * self.x)
    @classmethod
    def origin(cls):
        return cls(0, 0)
    unit = "m"
class Bare(NamedTuple):
    x: int
class Empty(NamedTuple):
    pass
class Shown(NamedTuple):
    x: int
    def __repr__(self):
        return f"<{self.x}>"
class Wide(NamedTuple):
''' + "".join(f"    field_{number}: int = {number}\n" for number in range(30))


def made_by(base):
    space = {"NamedTuple": base, "__name__": __name__}
    exec(BODY, space)
    return space


OURS, THEIRS = made_by(fast_namedtuple.NamedTuple), made_by(typing.NamedTuple)
NAMES = ("Point", "Bare", "Empty", "Shown", "Wide")
Point = OURS["Point"]  # pickle finds it by this name


def outcome_of(ask, space):
    """Return the result or the error of an expression, with classes as names."""
    try:
        found = eval(ask, {**space, "copy": copy, "inspect": inspect})
    except Exception as error:
        return type(error), str(error)
    return (type(found).__name__, repr(found))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "ask",
    [
        "{}._fields", "{}._field_defaults", "{}.__match_args__", "{}.__doc__", "{}.__name__", "{}.__qualname__",
        "{}.__module__", "{}.__mro__[1:]", "{}.__slots__", "{}.__new__.__name__", "{}.__new__.__qualname__",
        "{}.__new__.__doc__", "{}.__new__.__defaults__", "inspect.signature({})", "hasattr({}(1), '__dict__')",
        "{}(1)", "{}(1, 2)", "{}(x=1, y=2)", "{}(1, 2, tags=['a'])", "{}(1, x=2)", "{}(1, z=2)", "{}()", "{}(*range(30))",
        "{}._make([1])", "{}._make(range(4))", "{}._make(range(40))", "{}(1)._asdict()", "{}(1, 2)._asdict()",
        "{}(1)._replace(x=3)", "{}(1)._replace(z=3)", "{}(1) == (1,)", "{}(1, 2) == (1, 2, 'p', [])", "hash({}(1))",
        "copy.copy({}(1))", "copy.deepcopy({}(1, 2))", "{}(1)[0]", "len({}(1))", "{}(1).x", "{}.x.__doc__",
        "{}(1).__getnewargs__()", "sorted(set(dir({})) - {{'__orig_bases__'}})",
    ],
)  # fmt: skip
def test_fast_namedtuple_expression_equals_typing(name, ask):
    assert outcome_of(ask.format(name), OURS) == outcome_of(ask.format(name), THEIRS)


@pytest.mark.parametrize(
    "ask", ["Point(1, 2).sum()", "Point(1, 2).twice", "Point.origin()", "Point.unit", "Point(1, 2).unit"]
)
def test_fast_namedtuple_has_methods_and_attributes_of_the_statement(ask):
    assert outcome_of(ask, OURS) == outcome_of(ask, THEIRS)
    assert outcome_of(ask, OURS)[0] in {"int", "str", "Point"}


def test_fast_namedtuple_subclass_has_repr_and_replace():
    for space in (OURS, THEIRS):
        subclass = type("Further", (space["Point"],), {})
        assert repr(subclass(1, 2)) == "Further(x=1, y=2, name='p', tags=[])"
        assert type(subclass(1, 2)._replace(x=4)) is subclass


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_fast_namedtuple_can_be_pickled(protocol):
    point = Point(1, 2.5, tags=["a"])
    again = pickle.loads(pickle.dumps(point, protocol))
    assert type(again) is Point and again == point


def test_fast_namedtuple_type_hints_equal_typing():
    assert typing.get_type_hints(OURS["Point"]) == typing.get_type_hints(THEIRS["Point"])
    assert typing.get_type_hints(OURS["Point"].__new__) == typing.get_type_hints(THEIRS["Point"].__new__)


def test_fast_namedtuple_resolves_string_annotation():
    space = {"NamedTuple": fast_namedtuple.NamedTuple, "__name__": __name__}
    exec("class Later(NamedTuple):\n    x: 'int'", space)
    assert typing.get_type_hints(space["Later"]) == {"x": int}


def test_fast_namedtuple_supports_match_statement():
    match Point(3, 4):
        case Point(x, y, name=name):
            assert (x, y, name) == (3, 4, "p")


def test_fast_namedtuple_default_before_field_without_one_is_refused():
    for base in (fast_namedtuple.NamedTuple, typing.NamedTuple):
        with pytest.raises(TypeError, match="default"):
            exec("class Wrong(NamedTuple):\n    a: int = 1\n    b: int\n", {"NamedTuple": base, "__name__": "m"})


def test_fast_namedtuple_with_another_base_is_refused():
    with pytest.raises(TypeError, match="Wrong: a NamedTuple cannot have another base"):
        exec("class Wrong(NamedTuple, dict): pass", {"NamedTuple": fast_namedtuple.NamedTuple, "__name__": "m"})


def test_recorded_process_loads_no_typing_namedtuple():
    """A class made by `typing` would slow down every start."""
    program = (
        "import sys, clew.instrument.bootstrap, clew.cli.main, clew.cli.recording.record\n"
        "import clew.cli.recording.summary, clew.records.collector.main, clew.records.run.finish\n"
        "print([f'{m.__name__}.{n}' for m in list(sys.modules.values()) if m.__name__.startswith('clew') for n, c in "
        "vars(m).items() if isinstance(c, type) and hasattr(c, '_fields') and '__orig_bases__' in vars(c)])"
    )
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert found == "[]\n"
