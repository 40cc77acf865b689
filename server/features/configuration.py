"""The user's settings, asked of the editor once it is there and whenever they change."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from clew.server.settings import SECTION, read

if TYPE_CHECKING:
    from clew.server.server import ClewServer

log = logging.getLogger(__name__)


def register(server: ClewServer) -> None:
    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def changed(params: types.DidChangeConfigurationParams) -> None:
        sent = params.settings
        await load(server, sent.get(SECTION) if isinstance(sent, Mapping) else None)


async def begin(server: ClewServer) -> None:
    """Asks to be told of changes, where the editor wants to be asked for that, and loads."""
    workspace = server.client_capabilities.workspace
    changes = workspace.did_change_configuration if workspace else None
    if changes is not None and changes.dynamic_registration:
        try:
            await server.client_register_capability_async(
                types.RegistrationParams(
                    [types.Registration("clew", types.WORKSPACE_DID_CHANGE_CONFIGURATION, {"section": SECTION})]
                )
            )
        except JsonRpcException as error:
            log.info("the editor does not tell when its settings change: %s", error)
    await load(server)


async def load(server: ClewServer, sent: object = None) -> None:
    """Takes on the editor's settings: those that it says when asked, else those that it sent."""
    workspace = server.client_capabilities.workspace
    if workspace is not None and workspace.configuration:
        try:
            answer = await server.workspace_configuration_async(
                types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
            )
            sent = answer[0] if answer else sent
        except JsonRpcException as error:
            log.info("the editor does not tell its settings: %s", error)
    settings, problems = read(sent)
    for problem in problems:
        server.tell_once(problem)
    before, server.settings = server.settings, settings
    server.session.default_baseline = settings.baseline
    server.session.programs, server.session.spec = settings.programs, settings.record_spec
    if settings.shown() != before.shown():
        server.refresh_lenses()
    server.figures.refresh()
    server.comparison.refresh()
