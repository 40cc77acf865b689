"""`clew view`: the panel in a browser, served on the loopback until Ctrl-C."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.common import json_option, open_session, print_json, run_option, workspace_option

if TYPE_CHECKING:
    from clew.server.session import Session

LIVE = "#view=entities"
"""After the panel's address."""


@click.command()
@run_option
@workspace_option
@click.option("--live", is_flag=True, help="Watch a program while it is recorded: the newest that is, or --run.")
@click.option(
    "--relay/--no-relay", default=True, help="What is watched is shown at once, through a relay. Default: yes."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Default: any free port.")
@click.option("--browser/--no-browser", default=True, help="Open a browser, or only print the address.")
@click.option("--trust", is_flag=True, help="Load the workspace's own views, .clew/views/*.js: they are programs.")
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
    """Open the panel in a browser: the slice of a run, its critical path, the difference of two runs.

    It listens on 127.0.0.1 only, and the address holds a token that lasts as long as the command. Ctrl-C ends it.

    \b
    Examples:
      clew view
      clew view --run before --port 8123 --no-browser
      clew run --name shop -- python -m shop & clew view --live
    """
    from clew.server.http import PanelServer

    logging.basicConfig(level=logging.WARNING, format="clew: %(message)s")
    session = open_session(workspace)
    session.trusted = trust
    if run:
        session.select(run)
    if live:
        _look_at_live(session, given=bool(run))
    server = PanelServer(session, port, relayed=relay)
    url = server.url + (LIVE if live else "")
    # `kill` ends it as Ctrl-C does, also where a shell started it in the background and Ctrl-C is ignored.
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
        click.echo("Ctrl-C ends it", err=True)
        if browser:
            import webbrowser

            if not webbrowser.open(url):
                click.echo("no browser could be started; open the address yourself", err=True)
        # Awake now and then: a signal that another thread was given is handled by this one only when it runs.
        while not ended.wait(0.5):
            pass
    finally:
        server.close()


def _look_at_live(session: Session, *, given: bool) -> None:
    """Selects the newest run that goes on, unless one was given. Where there is none, the next one is shown once it begins."""
    from clew.server.relay.finding import elsewhere

    found = session.runs()
    going = [one for one in found.runs if not one.finished]
    if given and session.going_on() is None:
        raise click.UsageError(f"run {found.selected} is over; look at it without --live")
    if given:
        return
    if not going:
        click.echo("nothing is being recorded now; what begins with `clew run` is shown at once", err=True)
        for one in elsewhere(session.workspace):
            click.echo(f"elsewhere {one.name} is: clew view --live --run {one.id}", err=True)
    else:
        session.select("" if going[0].id == found.selected else going[0].id)
