"""Remove values from paths of requests: keep the route, not its data.

Invariant: all values are replaced; if one is not found, the result is empty.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

_SHOWN = (str, int)
"""Types whose text needs no user code and equals the text in the path; 1.0 may have been `1`, while another part is
`1.0`."""


def with_names(path: Any, values: Any, many: Any) -> str:
    """Return a path with `{name}` for the first `many` values of a dict, in order; "" if not all of them are parts of it.

    Raise `TypeError` for arguments of other types.
    """
    if type(path) is not str or type(values) is not dict or type(many) is not int:
        raise TypeError("a path is a str, its values are a dict, and how many a number")
    if not 0 <= many <= len(values):
        return ""
    parts, shown, start = path.split("/"), [], 0
    for name, value in islice(values.items(), many):
        if type(name) is not str or type(value) not in _SHOWN:
            return ""
        segments = str(value).split("/")
        place = next((at for at in range(start, len(parts)) if parts[at : at + len(segments)] == segments), None)
        if place is None:
            return ""
        shown += [*parts[start:place], f"{{{name}}}"]
        start = place + len(segments)
    return "/".join([*shown, *parts[start:]])
