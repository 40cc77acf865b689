"""The C module of the probes: invisible calls, wrappers of C functions, and hooks for scripts (see `install`)."""

from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any, final

@final
class Quiet:
    def __new__(cls, function: Callable[..., object], kept: int = -1, drops_all: bool = False, /) -> Quiet: ...
    def __call__(self, *arguments: object) -> Any: ...

@final
class Around:
    def __new__(
        cls,
        function: Callable[..., object],
        before: Callable[..., object] | None = None,
        after: Callable[..., object] | None = None,
        /,
    ) -> Around: ...
    def __call__(self, *arguments: object, **options: object) -> Any: ...

@final
class Bracket:
    def __new__(
        cls,
        enter: object,
        exit: object,
        unwind: object,
        start: Callable[..., object] | None,
        before_exit: Callable[..., object] | None,
        after_exit: Callable[..., object] | None,
        before_unwind: Callable[..., object] | None,
        after_unwind: Callable[..., object] | None,
        /,
    ) -> Bracket: ...
    def __call__(self, function: Any, instance: object, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any: ...

def watch_main(offer: Callable[[CodeType], CodeType | None], /) -> None: ...
def watch_exec(offer: Callable[[CodeType, dict[str, Any]], CodeType | None], /) -> None: ...
def stand_in(
    owner: ModuleType, name: str, before: Callable[..., object] | None, after: Callable[..., object] | None, /
) -> Any: ...
def put_method(owner: type, name: str, value: object, /) -> None: ...
def unwatch() -> None: ...
def watching() -> bool: ...
