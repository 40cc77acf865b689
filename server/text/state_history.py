"""Turn the history of a state into lines and Markdown: its last values, and who wrote each."""

from __future__ import annotations

from clew.server.protocol.history import HistoryResult, StateWrite
from clew.server.text import units
from clew.server.text.answer import code, escaped

MOST_VALUES = 5
"""The last writes that a message or a hover shows."""


def last_values(result: HistoryResult) -> list[StateWrite]:
    """Return the last few writes, the newest first: up to the one in question, if the answer knows it."""
    marked = next((number for number, write in enumerate(result.writes) if write.isMarked), len(result.writes) - 1)
    return result.writes[max(0, marked + 1 - MOST_VALUES) : marked + 1][::-1]


def lines(result: HistoryResult, base: str | None = None) -> list[str]:
    """Return the last values as lines, or why there are none."""
    if result.message:
        return [result.message, *([f"This records them: {result.command}"] if result.command else [])]
    shown = [
        f"{units.offset(write.timeNs)}  {_done(result, write)}, by {_writer(result, write)} ({_at(write, base)})"
        for write in last_values(result)
    ]
    return [f"Last values of {result.state}, the newest first:", *shown, *_races(result), *result.notes]


def markdown(result: HistoryResult, base: str | None = None) -> str:
    """Return the last values as a table in Markdown; "" if there are none."""
    shown = last_values(result)
    if not shown:
        return ""
    rows = [f"| {' | '.join(_cells(result, write, base))} |" for write in shown]
    title = f"Last values of {code(result.state)} in run {escaped(result.run.name)}"
    notes = [escaped(note) for note in (*_races(result), *result.notes)]
    return "\n".join([title, "", "| value | by | time | place |", "|---|---|---|---|", *rows, "", *notes]).rstrip()


def _cells(result: HistoryResult, write: StateWrite, base: str | None) -> tuple[str, ...]:
    done, by, at = (" ".join(text.split()) for text in (_done(result, write), _writer(result, write), _at(write, base)))
    # A bar would end the cell, even in inline code.
    return code(done).replace("|", "\\|"), escaped(by), units.offset(write.timeNs), escaped(at)


def _done(result: HistoryResult, write: StateWrite) -> str:
    name = write.state or result.state
    return f"{name}{'' if write.change[:1] in '.[' else ' '}{write.change}"


def _writer(result: HistoryResult, write: StateWrite) -> str:
    lane = result.lanes[write.lane]
    caller = f", called by {lane.caller}" if lane.caller else ""
    request = f", for {lane.request}" if lane.request else ""
    return f"{write.by}{caller}, in {lane.who}{request}"


def _at(write: StateWrite, base: str | None) -> str:
    return units.place(write.location.path, write.location.line, base) if write.location is not None else ""


def _races(result: HistoryResult) -> list[str]:
    return [f"{_done(result, write)}: {write.race}" for write in result.writes if write.race]
