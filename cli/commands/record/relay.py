"""`clew relay`: stream the live recordings of programs to viewers, until no recording is left."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.output.options import json_option, print_json

if TYPE_CHECKING:
    from clew.server.relay.launch import Address

TOKEN_VARIABLE = "CLEW_RELAY_TOKEN"


@click.command()
@click.option(
    "--workspace", "workspaces", multiple=True, type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder whose runs are streamed. Repeatable. Default: all of your programs on this machine, and this folder.",
)  # fmt: skip
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; other than loopback only with TLS and a token.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on. Default: any free port.")
@click.option("--cert", type=click.Path(path_type=Path, dir_okay=False), help="TLS certificate, a PEM file.")
@click.option(
    "--key", type=click.Path(path_type=Path, dir_okay=False), help="Private key of the certificate, a PEM file."
)
@click.option(
    "--token-file", type=click.Path(path_type=Path, dir_okay=False),
    help=f"File with the token in its first line, readable only by you. Default: ${TOKEN_VARIABLE}, else a new token.",
)  # fmt: skip
@click.option(
    "--otlp",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Also accept OTLP over HTTP on this port: 4318 is usual, 0 is any free port.",
)
@click.option(
    "--to", metavar="URL", help="Forward runs to another relay, wss://HOST:PORT, which stores them as its own."
)
@click.option(
    "--to-token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the token of the other relay, readable only by you.",
)
@click.option(
    "--to-cert",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Certificate of the other relay, if no known authority signed it.",
)
@click.option(
    "--grace",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    help="Seconds of idle time before the relay exits.",
)
@click.option("--quiet", is_flag=True, help="Print only errors.")
@json_option
def relay(
    *, workspaces: tuple[Path, ...], host: str, port: int, cert: Path | None, key: Path | None, token_file: Path | None,
    otlp: int | None, to: str | None, to_token_file: Path | None, to_cert: Path | None, grace: float, quiet: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Stream live recordings to any number of viewers.

    The relay reads the files that recorded programs write, so it adds no cost to them. It exits when no program is
    recorded, no viewer is connected and the grace period is over. `clew view --live` and the editor start a relay
    automatically.

    \b
    Examples:
      clew relay
      clew relay --workspace ~/shop --port 8700
      clew relay --host 0.0.0.0 --port 8700 --cert relay.pem --key relay.key --token-file ~/.relay-token
      clew relay --otlp 4318
      clew relay --to wss://build.example:8700 --to-token-file ~/.relay-token --to-cert relay.pem
    """
    from clew.records.run.directory import workspace_of
    from clew.server.relay.launch import Address, Place
    from clew.server.relay.listen_config import ListenError, Listening, token_of
    from clew.server.relay.relay import Relay

    logging.basicConfig(level=logging.WARNING, format="clew: %(message)s")
    given = token_of(token_file) if token_file else os.environ.get(TOKEN_VARIABLE, "")
    listening = (
        Listening(host, port, given, cert, key, given=True)
        if given
        else Listening(host, port, certificate=cert, key=key)
    )
    if to and not to_token_file:
        raise ListenError("--to needs --to-token-file: a relay accepts runs only from holders of its token")
    others = [Address(to, token_of(to_token_file), 0, str(to_cert or ""))] if to and to_token_file else []
    everywhere = not workspaces
    folders = [folder.resolve() for folder in workspaces] or [workspace_of(Path.cwd())]
    with contextlib.ExitStack() as left:
        places = []
        for folder in folders:
            places.append(Place(folder))
            left.callback(places[-1].leave)

        async def serve() -> None:
            one = Relay(folders, listening, everywhere=everywhere, grace=grace, to=others, otlp=otlp)
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, one.stop)
            ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            ready.add_done_callback(lambda done: begun(done.result(), one.otlp.port if one.otlp else 0))
            await one.run(ready)

        def begun(port: int, spans: int) -> None:
            address = Address(listening.url(port), listening.token, os.getpid(), str(cert or ""))
            for place in places:
                place.write(address)
            if as_json or not quiet:
                _say(address, listening.http_url(spans) if spans else "", as_json=as_json)

        asyncio.run(serve())


def _say(address: Address, otlp: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"url": address.url, "token": address.token, "pid": address.pid, "otlp": otlp})
    else:
        click.echo(f"the relay is at {address.url}; viewers of this user find it automatically, others need its token")
        if otlp:
            click.echo(
                f"send OTLP to {otlp} with the header `Authorization: Bearer TOKEN`; the token is in .clew/relay.json"
            )
        click.echo("press Ctrl-C to stop", err=True)
    sys.stdout.flush()
