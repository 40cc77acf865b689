"""Tell a program's own words from its options and their values, by tables for programs that serve applications.

Invariant: for a program without a table, only the values of options in `_VALUES` are omitted, because the word after any
other option may be an argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_VALUES = frozenset({"--log-level", "--loglevel", "--log_level", "--host", "--bind", "--env-file"})
"""The options of any program whose values never identify a process."""

_SWITCHES = {
    "uvicorn": "reload use-colors proxy-headers server-header date-header access-log version help factory "
    "reset-contextvars",
    "gunicorn": "reload spew check-config print-config preload no-sendfile reuse-port daemon D R capture-output "
    "enable-stdio-inheritance proxy-protocol log-syslog initgroups suppress-ragged-eofs do-handshake-on-connect "
    "strip-header-spaces disable-redirect-access-to-syslog permit-obsolete-folding h help v version",
    "hypercorn": "debug reload h help",
    "daphne": "proxy-headers no-server-name h help version",
    "granian": "reload access-log log process-name-workers websockets factory reuse-port version help",
    "celery": "q quiet skip-checks version help h C color B beat E task-events events without-gossip without-mingle "
    "without-heartbeat purge discard D detach autoreload",
    "flask": "debug reload debugger with-threads without-threads version help",
    "manage": "noreload nothreading nostatic insecure color force-color traceback skip-checks ipv6 6 noinput input help "
    "version keepdb",
}
"""The options without a value per program, without dashes; "--no-X" is one as well. All other options take a value."""
_SWITCHES["django-admin"] = _SWITCHES["manage"]
_NAMES = {
    "celery": ("-n", "--hostname", "-Q", "--queues"),
    "flask": ("-A", "--app"),
}
"""The options per program whose values identify a process."""


def program_words(program: str, words: Sequence[str]) -> list[str]:
    """Return the words of a command line that are no options, nor values of options that do not identify a process."""
    return list(_own_words(program, words))


def _own_words(program: str, words: Sequence[str]) -> Iterator[str]:
    switches = _SWITCHES.get(program)
    known = frozenset(switches.split()) if switches is not None else None
    names = _NAMES.get(program, ())
    left = iter(words)
    for word in left:
        option, equals, value = word.partition("=")
        if word == "--":
            yield from left
        elif not word.startswith("-") or word == "-":
            yield word
        elif equals:
            if option in names:
                yield value
        elif option in names or _takes_value(option, known):
            value = next(left, "")
            if option in names:
                yield value


def _takes_value(option: str, switches: frozenset[str] | None) -> bool:
    if switches is None:
        return option in _VALUES
    if not option.startswith("--") and len(option) > 2:
        return False  # a short option with its value in the same word: -w4
    name = option.lstrip("-")
    return name not in switches and name.removeprefix("no-") not in switches
