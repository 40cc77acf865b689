"""Wrap a recorded function without bytecode in a `wrapt` proxy that pickles, copies and prints like the function.

Invariant: this module, and with it wrapt, is imported only if a wrapper is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wrapt

if TYPE_CHECKING:
    BoundFunction = wrapt.BoundFunctionWrapper[Any, Any]
    Function = wrapt.FunctionWrapper[Any, Any]
else:  # older versions of wrapt do not support the subscripts
    BoundFunction, Function = wrapt.BoundFunctionWrapper, wrapt.FunctionWrapper


class _FunctionLike:
    """Methods that behave like those of the function itself; `wrapt` proxies do not define them."""

    __slots__ = ()
    __wrapped__: Any

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Functions pickle by name. The name refers to the wrapper here, and to the function in unrecorded processes.
        return self.__wrapped__.__reduce_ex__(protocol)

    def __reduce__(self) -> Any:
        return self.__wrapped__.__reduce__()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


class _Bound(_FunctionLike, BoundFunction):
    """A bound method, or a function accessed through its class."""


class Wrapped(_FunctionLike, Function):
    """The proxy of a function; create it with `Wrapped(function, bracket)`."""

    __bound_function_wrapper__ = _Bound
