"""Whether a recorded run wrote a line, for whoever shows lines that are in no document: terminals."""

from __future__ import annotations

from clew.graph.logs.moments import MAX_WIDTH
from clew.server.panel.log_file import find
from clew.server.positions import utf16_length
from clew.server.protocol import RecognisedLine, RecogniseParams, RecogniseResult, Target
from clew.server.session import Session, Task


def recognise(session: Session, params: RecogniseParams, task: Task) -> RecogniseResult:
    from clew.server.panel.titles import event_title

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
