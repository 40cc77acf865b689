"""Reimplement `typing.NamedTuple` in a fifth of the time: a recorded program waits for nearly sixty such classes.

typing creates a class, compiles a constructor for it, and then sets the attributes of the class statement one by one;
each assignment updates the type's slots. This module creates a class with all its attributes at once, and compiles one
constructor for all classes with the same number of fields.

Invariant: a class behaves like typing's, with three exceptions. String annotations stay strings, a class has no other
base, and errors that mypy reports (such as a field with a leading underscore) are not checked again.
"""

import sys
from typing import TYPE_CHECKING

__all__ = ["NamedTuple"]

# From 3.14 on, a class statement computes its annotations only on request.
if TYPE_CHECKING or sys.version_info >= (3, 14):
    from typing import NamedTuple
else:
    from _collections import _tuplegetter
    from collections.abc import Callable, Iterable
    from functools import cache
    from typing import Any

    _new = tuple.__new__

    @cache
    def _constructor(count: int) -> Any:
        """Compile a constructor for classes with `count` fields, whose names are substituted later."""
        names = "".join(f"_{number}, " for number in range(count))
        return eval(f"lambda _cls, {names}: _new(_cls, ({names}))", {"_new": _new, "__name__": __name__})

    @cache
    def _field(number: int) -> Any:
        return _tuplegetter(number, f"Alias for field number {number}")

    @classmethod
    def _make(cls: Any, iterable: Iterable[Any]) -> Any:
        """Create a tuple from as many values as there are fields."""
        made = _new(cls, iterable)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self: Any, /, **changes: Any) -> Any:
        """Return a copy with other values in some fields."""
        made = self._make(map(changes.pop, self._fields, self))
        if changes:
            wrong = TypeError if sys.version_info >= (3, 13) else ValueError
            raise wrong(f"Got unexpected field names: {[*changes]!r}")
        return made

    def _asdict(self: Any) -> dict[str, Any]:
        """Return the values by field name, in order."""
        return dict(zip(self._fields, self, strict=True))

    def _repr(self: Any) -> str:
        return type(self).__name__ + f"({'=%r, '.join((*self._fields, ''))[:-2]})" % self

    def _arguments(self: Any) -> tuple[Any, ...]:
        """Return the constructor arguments, for copies and pickles."""
        return (*self,)

    def _named(constructor: Any, name: str, shown: str, space: dict[str, Any], defaults: Any) -> Callable[..., Any]:
        fields = (*space["__annotations__"],)
        code = constructor.__code__.replace(
            co_varnames=("_cls", *fields), co_name="__new__", co_qualname=f"{name}.__new__"
        )
        made = type(constructor)(code, constructor.__globals__, "__new__", (*defaults.values(),))
        made.__doc__ = f"Create new instance of {shown}"
        made.__annotations__ = space["__annotations__"]
        return made

    class _Maker(type):
        def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> Any:
            if not bases:
                return super().__new__(cls, name, bases, space)
            if len(bases) > 1:
                raise TypeError(f"{name}: a NamedTuple cannot have another base")
            fields = (*space.setdefault("__annotations__", {}),)
            defaults = {field: space[field] for field in fields if field in space}
            if fields[len(fields) - len(defaults) :] != (*defaults,):
                raise TypeError(f"{name}: a field without a default follows one that has one: {', '.join(fields)}")
            shown = f"{name}({', '.join(fields)}{',' * (len(fields) == 1)})"
            attributes = {
                "__doc__": shown,
                "__slots__": (),
                "__match_args__": fields,
                "_fields": fields,
                "_field_defaults": defaults,
                "__new__": _named(_constructor(len(fields)), name, shown, space, defaults),
                "_make": _make,
                "_replace": _replace,
                "_asdict": _asdict,
                "__repr__": _repr,
                "__getnewargs__": _arguments,
                **space,
                **{field: _field(number) for number, field in enumerate(fields)},
            }
            if sys.version_info >= (3, 13):
                attributes["__replace__"] = _replace
            return type(name, (tuple,), attributes)

    class NamedTuple(metaclass=_Maker):
        """The base of a class statement whose annotations are the fields of a tuple."""
