"""Decides whether a recorded run wrote a line, for clients that show lines outside documents: terminals."""

from __future__ import annotations

from clew.graph.logs.timestamps import MAX_WIDTH
from clew.server.locations.log_line import find
from clew.server.lsp.positions import utf16_length
from clew.server.protocol.log_line import RecognisedLine, RecogniseParams, RecogniseResult
from clew.server.protocol.shared import Target
from clew.server.session.session import Session, Task


def recognise(session: Session, params: RecogniseParams, task: Task) -> RecogniseResult:
    from clew.server.text.events import event_title

    text = params.text[:MAX_WIDTH]
    written = find(session, text, task)
    if written is None:
        return RecogniseResult()
    begin, end = written.found.begin, written.found.end
    title = event_title(written.run.graph, written.event)
    if not written.found.certain:
        title += f", the likeliest of {written.found.count:,}"
    return RecogniseResult(
        [
            RecognisedLine(
                utf16_length(text[:begin]), utf16_length(text[:end]), Target(line=text), written.run.info.id, title
            )
        ]
    )
