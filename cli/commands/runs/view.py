"""`clew view`: serve the panel to a browser on the loopback interface until Ctrl-C."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.output.options import json_option, open_session, print_json, run_option, workspace_option

if TYPE_CHECKING:
    from clew.server.session.session import Session

LIVE = "#view=entities"
"""Fragment appended to the panel's address."""


@click.command()
@run_option
@workspace_option
@click.option("--live", is_flag=True, help="Watch a live run: the newest one, or --run.")
@click.option("--relay/--no-relay", default=True, help="Show live events without delay through a relay. Default: yes.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on. Default: any free port.")
@click.option("--browser/--no-browser", default=True, help="Open a browser, or only print the address.")
@click.option("--trust", is_flag=True, help="Load the workspace's custom views, .clew/views/*.js, which are programs.")
@json_option
def view(
    *,
    run: str | None,
    workspace: Path | None,
    live: bool,
    relay: bool,
    port: int,
    browser: bool,
    trust: bool,
    as_json: bool,
) -> None:
    """Open the panel in a browser: slices, critical paths, comparisons and more.

    The server listens on 127.0.0.1 only. Its address contains a token that is valid until the command exits. Press
    Ctrl-C to stop.

    \b
    Examples:
      clew view
      clew view --run before --port 8123 --no-browser
      clew run --name shop -- python -m shop & clew view --live
    """
    from clew.server.http.app import PanelServer

    logging.basicConfig(level=logging.WARNING, format="clew: %(message)s")
    session = open_session(workspace)
    session.trusted = trust
    if run:
        session.select(run)
    if live:
        _look_at_live(session, given=bool(run))
    server = PanelServer(session, port, relayed=relay)
    url = server.url + (LIVE if live else "")
    # SIGTERM ends the server like Ctrl-C, also in a background job, where the shell ignores SIGINT.
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    threading.Thread(target=server.serve_forever, name="clew-http", daemon=True).start()
    try:
        if as_json:
            print_json({"url": url, "token": server.token, "port": server.port})
        else:
            click.echo(f"the panel is at {url}")
        if sys.stdout is not None:
            sys.stdout.flush()
        click.echo("press Ctrl-C to stop", err=True)
        if browser:
            import webbrowser

            if not webbrowser.open(url):
                click.echo("cannot start a browser; open the address manually", err=True)
        # Wake regularly: Python runs handlers only in the main thread, also for signals delivered to another thread.
        while not ended.wait(0.5):
            pass
    finally:
        server.close()


def _look_at_live(session: Session, *, given: bool) -> None:
    """Select the newest live run, unless a run was given. Without a live run, the next one is shown when it begins."""
    from clew.server.relay.discovery import elsewhere

    found = session.runs()
    going = [one for one in found.runs if not one.finished]
    if given and session.selected_live_run() is None:
        raise click.UsageError(f"run {found.selected} is finished; remove --live to view it")
    if given:
        return
    if not going:
        click.echo("no live run found; the next `clew run` is shown immediately", err=True)
        for one in elsewhere(session.workspace):
            click.echo(f"live run {one.name} in another workspace: clew view --live --run {one.id}", err=True)
    else:
        session.select("" if going[0].id == found.selected else going[0].id)
