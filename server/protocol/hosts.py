"""What the editor's client tells the server as it starts, and what it and the panel tell each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from clew.server.protocol.live import RunGrewMessage
from clew.server.protocol.shared import Location


@dataclass(frozen=True)
class ClientOptions:
    """The language client's `initializationOptions`."""

    panel: bool = False
    """The client carries out the commands `COMMANDS` itself (it has the panel). Otherwise the server offers them
    through workspace/executeCommand and answers with a message. A client that registers them must say so, or they
    clash."""
    workspace: str = ""
    """The folder that holds `.clew`; else the first workspace folder, or the one found from there."""


@dataclass(frozen=True)
class OpenMessage:
    """To the panel: show this view. What its parameters are is the view's own matter: it makes the nearest question of them."""

    type: Literal["open"]
    view: str
    params: Any


@dataclass(frozen=True)
class CursorMessage:
    """To the panel: the editor's cursor moved."""

    type: Literal["cursor"]
    location: Location


@dataclass(frozen=True)
class RunsChangedMessage:
    """To the panel: a run began, went on, ended or was removed, or another one was selected."""

    type: Literal["runsChanged"]


@dataclass(frozen=True)
class RevealMessage:
    """From the panel: show this place of a run in the editor."""

    type: Literal["reveal"]
    location: Location
    """As it was recorded."""
    run: str


@dataclass(frozen=True)
class ReadyMessage:
    """From the panel: it listens now."""

    type: Literal["ready"]


HostMessage = OpenMessage | CursorMessage | RunsChangedMessage | RunGrewMessage
PanelMessage = RevealMessage | ReadyMessage
