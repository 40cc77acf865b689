"""The options of the editor's client, and the messages between the client and the panel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from clew.server.protocol.live import RunGrewMessage
from clew.server.protocol.shared import Location


@dataclass(frozen=True)
class ClientOptions:
    """The language client's `initializationOptions`."""

    panel: bool = False
    """Whether the client handles the commands `COMMANDS` itself (it has the panel). Otherwise the server offers them
    through workspace/executeCommand and answers with a message. A client that registers them must set this, or they
    clash."""
    workspace: str = ""
    """The folder that contains `.clew`; "" for the first workspace folder, or the one found from there."""


@dataclass(frozen=True)
class OpenMessage:
    """To the panel: show this view. The view interprets its parameters and makes the nearest valid request of them."""

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
    """To the panel: a run started, grew, ended or was removed, or another run was selected."""

    type: Literal["runsChanged"]


@dataclass(frozen=True)
class RevealMessage:
    """From the panel: show this location of a run in the editor."""

    type: Literal["reveal"]
    location: Location
    """The recorded location."""
    run: str


@dataclass(frozen=True)
class ReadyMessage:
    """From the panel: it is ready for messages."""

    type: Literal["ready"]


HostMessage = OpenMessage | CursorMessage | RunsChangedMessage | RunGrewMessage
PanelMessage = RevealMessage | ReadyMessage
