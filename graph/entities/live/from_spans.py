"""Follow the services that send OTLP spans while they run: machines, processes, and the calls between them.

Received documents are stored unchanged, one JSON document per line, so that the run can be imported when it is over. A call is
reported when both its span and its caller's span have arrived, in any order. Invariant: the read position is a file offset, and
the memory for spans is bounded; the oldest spans are forgotten first.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clew.graph.entities.events import Happening
from clew.graph.entities.live.state import OUTSIDE, LiveState, Naming, Row, table_of
from clew.graph.entities.live.state import Place as Site
from clew.graph.entities.live.tail import Reading
from clew.graph.formats.readers.otlp import attributes_of
from clew.graph.formats.source import dicts
from clew.graph.formats.spans import attribute_names
from clew.graph.model.graph import UNNAMED_MACHINE
from clew.records.errors import ClewError
from clew.records.run import directory
from clew.records.run.liveness import is_abandoned

FILE = "otlp.jsonl"
MOST_SPANS = 1 << 16
_READ_BYTES = 4 << 20

_Call = tuple[int, int, int]
"""The start of the call, the called entity, and its site."""


def lines_from(folder: Path, offset: int, most: int = _READ_BYTES) -> tuple[bytes, bool]:
    """Return the whole lines after an offset, and whether there can be more.

    About `most` bytes are returned, but at least one line if there is one. Raises `OSError` if the file is gone.
    """
    with (folder / FILE).open("rb") as file:
        file.seek(offset)
        data = file.read(most)
        while data and b"\n" not in data and (more := file.read(most)):
            data += more
    return data[: data.rfind(b"\n") + 1], len(data) >= most


class SpanFollower:
    """Follows a run that consists of received spans; the interface is that of `TraceFollower`."""

    source = "spans"

    def __init__(self, folder: Path, state: LiveState | None = None, saved: Mapping[str, Any] | None = None) -> None:
        """Raises `RunError` if the folder is not a run."""
        self.folder = folder
        saved = saved or {}
        info = directory.load_run(folder)
        # An import sets the start to the first span; reported times stay relative to the start known before.
        self.info = info._replace(started=int(saved.get("started", info.started)))
        self.state = state or LiveState()
        self.behind = False
        self.failed = 0
        self._offset = int(saved.get("offset", 0))
        self._naming = Naming(self.state, saved.get("next", 0))
        self._placed = {number for number in self.state.entities if self.state.is_placed(number)}
        messages = saved.get("messages", {})
        self._spans: OrderedDict[str, int] = OrderedDict(messages.get("spans", ()))
        """The entity of each span id."""
        self._waiting: OrderedDict[str, list[_Call]] = OrderedDict(messages.get("waiting", ()))
        """Calls by the id of their caller's span, which has not arrived."""
        self._channel = 0

    def all(self) -> dict[str, Any]:
        messages = {"spans": list(self._spans.items()), "waiting": list(self._waiting.items())}
        return {
            "source": self.source, "started": self.info.started, "next": self._naming.next_number, "offset": self._offset,
            "messages": messages,
        }  # fmt: skip

    def poll(self, most: int = _READ_BYTES) -> Reading | None:
        """Read new spans; None if there are none. Raises `OSError` if the file is gone."""
        data, self.behind = lines_from(self.folder, self._offset, most)
        if not data:
            return None
        self._offset += len(data)
        rows: list[Row] = []
        changed: tuple[list[str], list[str]] = ([], [])
        for line in data.splitlines():
            try:
                document = json.loads(line)
                for resource in dicts(document.get("resourceSpans")):
                    self._resource(resource, rows, changed)
            except (ValueError, TypeError, AttributeError, RecursionError):
                self.failed += 1
        for memory in (self._spans, self._waiting):
            while len(memory) > MOST_SPANS:
                memory.popitem(last=False)
        batch = self._naming.next_batch(self.state.moment, table_of(rows))
        self._naming.forget(self.state.apply(batch))
        messages = {
            "spans": [(one, self._spans[one]) for one in changed[0] if one in self._spans],
            "waiting": [(one, self._waiting.get(one, [])) for one in dict.fromkeys(changed[1])],
        }
        reached = {"threads": {}, "offset": self._offset, "next": self._naming.next_number, "messages": messages}
        return Reading(batch, reached)

    @property
    def is_over(self) -> bool:
        """Whether the run is over and was read to the end."""
        try:
            self.info = directory.load_run(self.folder)._replace(started=self.info.started)
            if self.info.finished is None and not is_abandoned(self.folder, self.info):
                return False
            # The last lines from another machine can arrive after the last poll.
            return not lines_from(self.folder, self._offset)[0]
        except (ClewError, OSError):
            return True

    def close(self) -> None:
        """Do nothing: no file is open between polls."""

    def _resource(self, resource: Mapping[str, Any], rows: list[Row], changed: tuple[list[str], list[str]]) -> None:
        described = resource.get("resource")
        identity = attribute_names.described(
            attributes_of(described.get("attributes")) if isinstance(described, dict) else {}
        )
        service, host = identity.service or "unnamed", identity.host or UNNAMED_MACHINE
        machine = self._naming.entity(f"machine {host}", host, "machine")
        process = self._naming.entity(
            f"service {json.dumps([host, service, identity.instance, identity.pid])}", service, "process"
        )
        for scope in dicts(resource.get("scopeSpans")):
            for span in dicts(scope.get("spans")):
                began = int(span.get("startTimeUnixNano") or 0) - self.info.started
                for entity, container in ((machine, OUTSIDE), (process, machine)):
                    if entity not in self._placed:
                        self._placed.add(entity)
                        rows.append((began, entity, container, 0, 0, int(Happening.POSITION)))
                rows += self._span(span, process, began, service, changed)

    def _span(
        self, span: Mapping[str, Any], process: int, began: int, service: str, changed: tuple[list[str], list[str]]
    ) -> Iterator[Row]:
        trace = span.get("traceId")
        own, caller = f"{trace} {span.get('spanId')}", span.get("parentSpanId")
        module, function, file, line = attribute_names.place_of(
            service, str(span.get("name", "")), attributes_of(span.get("attributes"))
        )
        site = self._naming.site(Site(file, line, f"{module}:{function}"))
        self._spans[own] = process
        changed[0].append(own)
        for ns, called, at in self._waiting.pop(own, ()):
            changed[1].append(own)
            yield from self._call(process, (ns, called, at))
        if caller:
            by = f"{trace} {caller}"
            if by in self._spans:
                yield from self._call(self._spans[by], (began, process, site))
            else:
                self._waiting.setdefault(by, []).append((began, process, site))
                changed[1].append(by)

    def _call(self, caller: int, call: _Call) -> Iterator[Row]:
        ns, called, site = call
        if caller != called:
            self._channel = self._channel or self._naming.channel("call")
            yield ns, caller, called, self._channel, site, int(Happening.COMMUNICATION)
