"""Give the original bytecode of a function to libraries that compile, decompile or compare bytecode.

Numba compiles bytecode, Pony translates it to SQL, and Hypothesis uses it to match a lambda with its source line.
Probes would cause an error or a wrong result there. The function that the program calls remains the recorded one.
"""

from __future__ import annotations

import sys
from types import CodeType, FunctionType
from typing import Any

from clew.instrument.probes.bytecode.rewrite import Call, Probes, rewrite
from clew.instrument.probes.install.hidden_calls import Quiet
from clew.instrument.probes.install.original_code import original_of

READERS = {
    "numba.core.bytecode": {"get_code_object": "obj"},
    "pony.orm.decompiling": {"decompile": "x"},
    "hypothesis.internal.lambda_sources": {"_function_key": "f", "_normalize_code": "f"},
    "hypothesis.internal.reflection": {"is_identity_function": "f"},
}
"""Functions that read bytecode, by module, with the name of their first parameter, which is a function or code.

A version of a library without such a function is left unchanged."""

_prepared: set[str] = set()


def prepared(code: CodeType, module: str) -> CodeType:
    """Return the code of a module with readers that first replace their argument by its original."""
    if module not in READERS:
        return code
    _prepared.add(module)
    return _with_original_arguments(code, READERS[module])


def prepare_loaded() -> None:
    """Prepare the readers of modules that are already loaded."""
    for name in READERS.keys() - _prepared:
        for reader, parameter in READERS[name].items():
            function = getattr(sys.modules.get(name), reader, None)
            if type(function) is FunctionType:
                _prepared.add(name)
                function.__code__ = _with_original_arguments(function.__code__, {reader: parameter})


def _with_original_arguments(code: CodeType, readers: dict[str, str]) -> CodeType:
    probes = Probes(0, start=Call(Quiet(without_probes, 0), (0,), 0))

    def choose(found: CodeType) -> Probes | None:
        name = readers.get(found.co_qualname)
        return probes if name is not None and found.co_varnames[:1] == (name,) else None

    return rewrite(code, choose, lambda _site, _kind: None)


def without_probes(value: Any) -> Any:
    """Return code, or a copy of a function, without probes; return other values unchanged."""
    if type(value) is CodeType:
        return original_of(value)
    if type(value) is not FunctionType or original_of(value.__code__) is value.__code__:
        return value
    code = original_of(value.__code__)
    function = FunctionType(code, value.__globals__, value.__name__, value.__defaults__, value.__closure__)
    function.__kwdefaults__ = value.__kwdefaults__
    function.__dict__.update(value.__dict__)
    return function
