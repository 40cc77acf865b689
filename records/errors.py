"""What can be wrong with a recording: errors that end a command, problems that are reported beside the answer."""

from clew.records.tuples import NamedTuple


class ClewError(Exception):
    """A mistake the user can act on: `str()` says what, where and what to do. Commands print it without a traceback."""

    exit_code = 2


class RunError(ClewError):
    """A run folder or one of its files cannot be used."""


class PlanError(ClewError):
    """A probe plan cannot be used."""


class Problem(NamedTuple):
    """Something odd in a file that still opens. `where` is a path, with `@offset` when a byte can be named."""

    where: str
    what: str
    lost: str = ""
