"""A redis-server for a test session: the installed one, or that of Debian's packages, unpacked into the cache without root."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = ("redis-server", "redis-tools", "libjemalloc2", "liblzf1")
CACHE = Path(__file__).resolve().parents[3] / ".cache" / "redis"


class NotThere(Exception):
    """Raised with the reason when no redis-server is available."""


def command() -> tuple[str, dict[str, str]]:
    """Return the program and the environment variables that it needs."""
    found = shutil.which("redis-server")
    if found:
        return found, {}
    program = CACHE / "usr/bin/redis-server"
    if not program.exists():
        _fetch()
    libraries = {str(file.parent) for file in CACHE.rglob("lib*.so*")}
    return str(program), {"LD_LIBRARY_PATH": ":".join(sorted(libraries))}


def _fetch() -> None:
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise NotThere("redis-server is not installed, and this is no Debian to fetch it from")
    fresh = CACHE.with_name(f"redis.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        words = ["apt-get", "download", "-qq", *PACKAGES]
        subprocess.run(words, cwd=fresh, check=True, capture_output=True, text=True, timeout=120)
        for package in fresh.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, fresh], check=True, capture_output=True, text=True, timeout=60)
            package.unlink()
        shutil.rmtree(CACHE, ignore_errors=True)
        fresh.rename(CACHE)
    except subprocess.SubprocessError as error:
        told = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise NotThere(f"redis-server could not be fetched ({told[-1] if told else error}); apt-get update?") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Yield the path of the socket of an empty server. Raises `NotThere`."""
    program, environment = command()
    path = folder / "redis.sock"
    words = [
        program,
        "--port",
        "0",
        "--unixsocket",
        str(path),
        "--save",
        "",
        "--dir",
        str(folder),
        "--loglevel",
        "warning",
    ]
    server = subprocess.Popen(
        words, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        deadline = time.monotonic() + 120
        while not _answers(path):
            if server.poll() is not None or time.monotonic() > deadline:
                server.kill()
                said = (server.communicate()[0] or b"").decode(errors="replace").strip().splitlines()
                raise NotThere(f"redis-server does not start ({said[-1] if said else server.returncode})")
            time.sleep(0.02)
        yield str(path)
    finally:
        server.terminate()
        server.communicate()


def _answers(path: Path) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(path))
            asking.sendall(b"PING\r\n")
            return asking.recv(7) == b"+PONG\r\n"
    except OSError:
        return False
