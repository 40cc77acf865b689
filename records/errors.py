"""Define errors that end a command, and problems that are reported with an answer."""

from clew.records.fast_namedtuple import NamedTuple


class ClewError(Exception):
    """A mistake that the user can fix: `str()` gives the problem, the place and the remedy.

    Commands print it without a traceback.
    """

    exit_code = 2


class RunError(ClewError):
    """A run folder or one of its files cannot be used."""


class PlanError(ClewError):
    """A probe plan cannot be used."""


class Problem(NamedTuple):
    """An irregularity in a readable file. `where` is a path, with `@offset` when the byte is known."""

    where: str
    what: str
    lost: str = ""
