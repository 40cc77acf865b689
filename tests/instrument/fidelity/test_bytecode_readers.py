"""Libraries that read the bytecode of a recorded function find the bytecode of the unrecorded function."""

from __future__ import annotations

from clew.records.format.event import Kind

PLAIN = {"CLEW_RUN": "", "PYTHONPATH": ""}


def the_same(record, source: str, **files: str) -> set[str]:
    """Run a program plain and recorded, assert equal output, and return the recorded functions."""
    written = {name.replace("__", "/") + ".py": text for name, text in files.items()}
    plain, traced = (record(source, files=written, environment=environment) for environment in (PLAIN, {}))
    assert plain.code == 0, plain.stderr
    assert (traced.code, traced.stdout, traced.stderr) == (plain.code, plain.stdout, plain.stderr)
    return {placed.site.qualname for placed in traced.of(Kind.ENTER)}


HYPOTHESIS = """
from hypothesis import strategies as st
from hypothesis.internal.reflection import is_identity_function

def strategies(least):
    yield st.integers().filter(lambda n: n > 3)
    yield st.integers().map(lambda n: (n, least)).flatmap(lambda pair, more=7: st.just(pair))
    yield is_identity_function(lambda same: same), is_identity_function(lambda other: not other)

def main():
    for described in strategies(2):
        print(described)

main()
"""


def test_hypothesis_shows_source_of_recorded_lambdas(record):
    assert {"main", "strategies"} <= the_same(record, HYPOTHESIS)


COMPILED = """
import numba.core.bytecode, pony.orm.decompiling

def outer(n, *, least=2):
    "Its documentation."
    def inner(m):
        yield m + n
    return list(inner(least)), (lambda: n)()

class Queries:
    def method(self, x):
        try:
            return x.price > 100
        except AttributeError:
            raise ValueError(x)

def told(code):
    print(code.co_qualname, code.co_code.hex(), code.co_exceptiontable.hex(), [type(each).__name__ for each in code.co_consts])
    for each in code.co_consts:
        if type(each) is type(code):
            told(each)

def main():
    for read in (numba.core.bytecode.get_code_object, pony.orm.decompiling.decompile):
        for given in (outer, Queries.method, outer.__code__, len):
            if (code := read(given)) is not None:
                told(code)
    print(outer(1))

main()
"""
READS = "def {}({}): return {} if type({}).__name__ == 'code' else getattr({}, '__code__', None)\n"


def test_numba_and_pony_read_bytecode_without_probes(record):
    # Only those parts of the two that ask for the code; Numba finds `None` in a function written in C.
    functions = the_same(
        record,
        COMPILED,
        numba__core__bytecode=READS.format("get_code_object", *["obj"] * 4),
        pony__orm__decompiling=READS.format("decompile", *["x"] * 4),
    )
    assert {"main", "outer", "outer.<locals>.inner"} <= functions
