"""Libraries that compile, decompile or compare the bytecode of a function are given that of before it was rewritten.

Numba compiles it, Pony makes SQL of it, and Hypothesis tells by it whether a line of source is that of a lambda; probes
would be an error or a wrong answer there. The function that the program calls stays the recorded one.
"""

from __future__ import annotations

import sys
from types import CodeType, FunctionType
from typing import Any

from clew.instrument.probes.bytecode import Call, Probes, rewrite
from clew.instrument.probes.originals import original_of
from clew.instrument.probes.quiet import Quiet

READERS = {
    "numba.core.bytecode": {"get_code_object": "obj"},
    "pony.orm.decompiling": {"decompile": "x"},
    "hypothesis.internal.lambda_sources": {"_function_key": "f", "_normalize_code": "f"},
    "hypothesis.internal.reflection": {"is_identity_function": "f"},
}
"""By module the functions that read bytecode, with their first parameter, which is a function or code. A version of the
library that has none of that name is left alone."""

_prepared: set[str] = set()


def prepared(code: CodeType, module: str) -> CodeType:
    """The code of a module, whose readers begin by taking what they are given as it was."""
    if module not in READERS:
        return code
    _prepared.add(module)
    return _given_originals(code, READERS[module])


def prepare_loaded() -> None:
    """The same for modules that are loaded already."""
    for name in READERS.keys() - _prepared:
        for reader, parameter in READERS[name].items():
            function = getattr(sys.modules.get(name), reader, None)
            if type(function) is FunctionType:
                _prepared.add(name)
                function.__code__ = _given_originals(function.__code__, {reader: parameter})


def _given_originals(code: CodeType, readers: dict[str, str]) -> CodeType:
    probes = Probes(0, start=Call(Quiet(as_it_was, 0), (0,), 0))

    def choose(found: CodeType) -> Probes | None:
        name = readers.get(found.co_qualname)
        return probes if name is not None and found.co_varnames[:1] == (name,) else None

    return rewrite(code, choose, lambda _site, _kind: None)


def as_it_was(given: Any) -> Any:
    """Code, or a function like the given one, without probes; anything else as it is."""
    if type(given) is CodeType:
        return original_of(given)
    if type(given) is not FunctionType or original_of(given.__code__) is given.__code__:
        return given
    code = original_of(given.__code__)
    function = FunctionType(code, given.__globals__, given.__name__, given.__defaults__, given.__closure__)
    function.__kwdefaults__ = given.__kwdefaults__
    function.__dict__.update(given.__dict__)
    return function
