"""The requests of the panel, by name. A new view adds its module to `MODULES`; the module declares its own `METHODS`."""

from __future__ import annotations

from typing import Final

from clew.server.protocol import history, log_line, recording, second_look, session
from clew.server.protocol.method import Method
from clew.server.protocol.views import (
    aggregate,
    compare,
    critical_path,
    custom_views,
    diff,
    entities,
    guide,
    localize,
    pattern_detail,
    patterns,
    slice,
    timeline,
    walk,
)

MODULES = (
    session,
    slice,
    critical_path,
    diff,
    compare,
    localize,
    patterns,
    pattern_detail,
    aggregate,
    timeline,
    entities,
    walk,
    second_look,
    history,
    custom_views,
    log_line,
    recording,
    guide,
)
"""In the order of the generated types."""

METHODS: Final[dict[str, Method]] = {name: method for module in MODULES for name, method in module.METHODS.items()}
"""Every request: over the language server as a custom request, over HTTP as POST /rpc with {"method", "params"}."""
