"""What stands for a function without bytecode that is recorded: a `wrapt` proxy that also pickles, copies and shows as the
function does. Invariant: only who needs a wrapper imports this, and with it wrapt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wrapt

if TYPE_CHECKING:
    BoundFunction = wrapt.BoundFunctionWrapper[Any, Any]
    Function = wrapt.FunctionWrapper[Any, Any]
else:  # which older versions of wrapt cannot say
    BoundFunction, Function = wrapt.BoundFunctionWrapper, wrapt.FunctionWrapper


class _Looks:
    """As the function itself; a proxy leaves these to its maker."""

    __slots__ = ()
    __wrapped__: Any

    def __reduce_ex__(self, protocol: Any) -> Any:
        # By name, as functions are: the name leads to the wrapper here, and to the function where nothing is recorded.
        return self.__wrapped__.__reduce_ex__(protocol)

    def __reduce__(self) -> Any:
        return self.__wrapped__.__reduce__()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


class _Bound(_Looks, BoundFunction):
    """A method of an object, or a function that was looked up in a class."""


class Wrapped(_Looks, Function):
    """`Wrapped(function, bracket)`."""

    __bound_function_wrapper__ = _Bound
