"""Install what the programs need: libraries and environments of other interpreters into a cache, servers on free ports."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "real_bugs"
RECORDER_NEEDS = ("wrapt>=1.16",)
"""The dependencies that a recorded program needs; the analysis runs in the interpreter that runs the benchmark."""


def libraries(pins: tuple[str, ...], python: str, cache: Path = CACHE) -> Path | None:
    """Return the folder in a cache with these libraries, installed at the first call; None without libraries.

    Raise `OSError` if they cannot be installed.
    """
    if not pins:
        return None
    version = "".join(version_of(python).split(".")[:2])
    folder = cache / f"{'_'.join(pins).replace('=', '')}-{version}"
    done = folder / ".done"
    if not done.exists():
        print(f"  installing {' '.join(pins)}", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", str(folder), *pins]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise OSError(f"pip cannot install {' '.join(pins)}: {result.stderr.strip().splitlines()[-1:]}")
        done.touch()
    return folder


def version_of(python: str) -> str:
    code = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def interpreter(version: str) -> str | None:
    """Return an interpreter of that version with this checkout's `clew`, None if there is no CPython of the version.

    Its environment, with what recording needs, is made in `.cache` at the first call and after changes of the C code.
    """
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if version in ("", own):
        return sys.executable
    folder = ROOT / ".cache" / "interpreters" / version
    python, done = folder / "bin" / "python", folder / ".installed"
    if done.exists() and done.stat().st_mtime > _last_change_of_extensions():
        return str(python)
    found = _cpython(version)
    if found is None:
        return None
    print(f"  installing clew for {found}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    for command in (
        [found, "-m", "venv", str(folder)],
        [*pip, *RECORDER_NEEDS],
        [*pip, "--no-deps", "-e", str(ROOT)],  # in the checkout, an extension's name tells its version of Python
    ):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise OSError(f"clew cannot be installed for {found}: {result.stderr.strip().splitlines()[-1:]}")
    done.touch()
    return str(python)


def _last_change_of_extensions() -> float:
    sources = (path for folder in ("records", "instrument") for path in (ROOT / folder).glob("**/csrc/**/*.[ch]"))
    return max(path.stat().st_mtime for path in sources)


def _cpython(version: str) -> str | None:
    """Return CPython of a version such as "3.12": from PATH, else the newest one that pyenv installed."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    installed = sorted(pyenv.glob(f"{version}.*/bin/python"), key=lambda path: _numbers(path.parts[-3]), reverse=True)
    for python in (shutil.which(f"python{version}"), *map(str, installed)):
        if python and _is_cpython(python, version):
            return python
    return None


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def _is_cpython(python: str, version: str) -> bool:
    """Return whether a program is CPython of the version, with the GIL and `venv`; a shim of pyenv may be none."""
    code = (
        "import sys, sysconfig, venv, ensurepip; print(sys.implementation.name, '%d.%d' % sys.version_info[:2], "
        "sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"
    )
    result = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return result.stdout.split() == ["cpython", version, "0"]


@contextlib.contextmanager
def server(kind: str) -> Iterator[int]:
    """Run a server on a free port until the end of the block. Raise `OSError` if it is not installed."""
    with tempfile.TemporaryDirectory(prefix="clew-bugs-", ignore_cleanup_errors=True) as folder:
        port = free_port()
        process = (_redis if kind == "redis" else _postgres)(port, folder)
        try:
            _await_port(port, process)
            yield port
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _redis(port: int, folder: str) -> subprocess.Popen[bytes]:
    program = _installed("redis-server", "redis-server", "/usr/bin/redis-server")
    command = [program, "--port", str(port), "--save", "", "--dir", folder]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _postgres(port: int, folder: str) -> subprocess.Popen[bytes]:
    binary = _installed("postgres", "postgresql", "/usr/lib/postgresql/*/bin/postgres")
    data = os.path.join(folder, "data")
    as_user: dict[str, object] = {}
    if os.getuid() == 0:  # PostgreSQL refuses to run as root
        os.chmod(folder, 0o755)
        shutil.chown(folder, "postgres")
        as_user = {"user": "postgres"}
    initdb = os.path.join(os.path.dirname(binary), "initdb")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    subprocess.run([initdb, "-D", data, "-A", "trust", "-U", "postgres"], check=True, **quiet, **as_user)  # type: ignore[call-overload]
    command = [binary, "-D", data, "-p", str(port), "-k", folder, "-h", "127.0.0.1"]
    return subprocess.Popen(command, **quiet, **as_user)  # type: ignore[call-overload,no-any-return]


def _installed(program: str, package: str, pattern: str) -> str:
    def found() -> str | None:
        return next(iter(sorted(glob.glob(pattern), reverse=True)), None) or shutil.which(program)

    path = found()
    if path is None and os.getuid() == 0 and shutil.which("apt-get"):
        print(f"  installing the Debian package {package}", file=sys.stderr)
        subprocess.run(["apt-get", "install", "-y", package], capture_output=True, check=False)
        path = found()
    if path is None:
        raise OSError(f"{program} is not installed (Debian: apt-get install {package})")
    return path


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        if process.poll() is not None:
            raise OSError(f"the server ended with exit code {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            time.sleep(0.3)
            return
        time.sleep(0.1)
    raise OSError("the server does not listen")
