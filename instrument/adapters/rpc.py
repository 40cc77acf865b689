"""Causality of calls by grpc clients: the header is added to a copy of the metadata, which is immutable.

Channel: "traceparent". The pack `grpc` covers servers and asyncio clients. Invariant: a call carries one header, and a
header that the user set is kept.
"""

from __future__ import annotations

from typing import Any

from clew.instrument.adapters.patching import adapter_site, hook, when_imported
from clew.instrument.propagation.traceparent import CHANNEL, forward_from, new_header
from clew.instrument.recorder.core import core


def install() -> None:
    when_imported("grpc._compression", _patch_calls)
    when_imported("grpc._channel", _patch_streams)


def _patch_calls(module: Any) -> None:
    """Hook the function that all calls but one kind use, on the calling thread."""
    site = adapter_site(module.augment_metadata)
    hook(module.augment_metadata, lambda metadata: (None, _with_header(metadata, site)), changes="metadata")


def _patch_streams(module: Any) -> None:
    """Hook the remaining kind of calls, which sends the metadata unchanged."""
    function = module._StreamUnaryMultiCallable.future
    site = adapter_site(function)

    def begin(_callable: Any, _requests: Any, _timeout: Any, metadata: Any) -> tuple[None, Any]:
        return None, _with_header(metadata, site)

    hook(function, begin, parameters=4, changes="metadata")


def _with_header(metadata: Any, site: int) -> Any:
    if not core.active() or not isinstance(metadata, (tuple, list, type(None))):
        return metadata
    pairs = tuple(metadata or ())
    theirs = next((value for name, value in pairs if name.lower() == CHANNEL), None)
    if theirs is None:
        return (*pairs, (CHANNEL, new_header(site)))
    forward_from({CHANNEL: theirs}, site)
    return metadata
