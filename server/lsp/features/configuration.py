"""The user's settings: requested from the editor at the start and after changes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from clew.server.lsp.settings import SECTION, read

if TYPE_CHECKING:
    from clew.server.lsp.server import ClewServer

log = logging.getLogger(__name__)


def register(server: ClewServer) -> None:
    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def changed(params: types.DidChangeConfigurationParams) -> None:
        sent = params.settings
        await load(server, sent.get(SECTION) if isinstance(sent, Mapping) else None)


async def begin(server: ClewServer) -> None:
    """Register for changes of settings, if the editor supports that, and load the settings."""
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
            log.info("the editor does not report changed settings: %s", error)
    await load(server)


async def load(server: ClewServer, sent: object = None) -> None:
    """Load the editor's settings: by request, else those that it sent."""
    workspace = server.client_capabilities.workspace
    if workspace is not None and workspace.configuration:
        try:
            answer = await server.workspace_configuration_async(
                types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
            )
            sent = answer[0] if answer else sent
        except JsonRpcException as error:
            log.info("the editor does not report its settings: %s", error)
    settings, problems = read(sent)
    for problem in problems:
        server.show_once(problem)
    before, server.settings = server.settings, settings
    server.session.default_baseline = settings.baseline
    server.session.programs, server.session.spec = settings.programs, settings.record_spec
    if settings.shown() != before.shown():
        server.refresh_lenses()
    server.function_data.refresh()
    server.comparison.refresh()
    server.failed_tests.refresh()
