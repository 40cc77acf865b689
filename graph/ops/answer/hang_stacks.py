"""Answer who waits for whom from a snapshot of the stacks of a process that was not recorded.

Invariant: what only frames suggest is inferred. Such an answer names no time, since nothing tells when a wait began.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clew.graph.ops.answer.hang import ORDER, Blocked, Hang, Holding, State, circles_of, is_given_back
from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim
from clew.records.format.facts import Frame

BASIS = "the lines that run: a lock counts as held inside its `with` block, or before the `finally` that releases it"
_WORDS = {
    "io": "input, output or time", "shutdown": "the end of the other threads", "asyncio.sleep": "time",
    "asyncio.gather": "the end of its tasks", "asyncio.taskgroup": "the end of its tasks",
}  # fmt: skip


def hang_of_stacks(snapshot: dict[str, Any], pid: int, root: str = "") -> Hang:
    """Return the answer for a snapshot by `clew.instrument.attach.stacks`.

    `root` is the folder of the program: a line below it is told rather than one of a library.
    """
    strands = {each["id"]: each for each in [*snapshot["threads"], *snapshot["tasks"]]}
    edges = {id_: dict(_edges(each, strands, root)) for id_, each in strands.items() if each["wait"]}
    circles = circles_of(edges)
    stuck = _stuck(strands, edges, {id_ for circle in circles for id_ in circle})
    waits = [_told(strands[id_], holders, pid, root, blocked=id_ in stuck) for id_, holders in edges.items()]
    waits.sort(key=lambda wait: ORDER[wait.state])
    claims = tuple(_circle_claim([strands[id_] for id_ in circle], edges, root) for circle in circles[:1])
    names = tuple(tuple(strands[id_]["name"] for id_ in circle) for circle in circles)
    return Hang(tuple(waits), names, claims, "inferred" if claims else "recorded", BASIS if claims else "")


def _edges(strand: dict[str, Any], strands: dict[int, dict[str, Any]], root: str) -> Iterator[tuple[int, Holding]]:
    """Yield the strands that a strand depends on, with words about each."""
    wait = strand["wait"]
    for target in wait["targets"]:
        if target in strands:
            yield target, Holding(strands[target]["name"], "")
    if wait["owner"] in strands:
        owner = strands[wait["owner"]]
        yield owner["id"], Holding(owner["name"], f"{owner['name']} holds it, as the lock itself tells")
    if wait["owner"] or not is_given_back(wait["channel"]):
        return
    for other in strands.values():
        for held in other["holds"]:
            if held["key"] == wait["key"]:
                place = _where([held["frame"]], root)
                yield (
                    other["id"],
                    Holding(
                        other["name"], f"{other['name']} seems to hold it, as {held['name']} ({place})", inferred=True
                    ),
                )


def _stuck(strands: dict[int, dict[str, Any]], edges: dict[int, dict[int, Holding]], in_circle: set[int]) -> set[int]:
    stuck = in_circle | {id_ for id_ in edges if _needs_return(strands[id_]["wait"])}
    while more := {id_ for id_ in edges if stuck & set(edges[id_])} - stuck:
        stuck |= more
    return stuck


def _needs_return(wait: dict[str, Any]) -> bool:
    return is_given_back(wait["channel"]) or (wait["channel"].endswith("queue") and not wait["idle"])


def _told(strand: dict[str, Any], holders: dict[int, Holding], pid: int, root: str, *, blocked: bool) -> Blocked:
    wait = strand["wait"]
    idle: State = "idle" if wait["idle"] or wait["targets"] else "waiting"
    return Blocked(
        strand["name"], pid, _what(wait, holders), wait["channel"], _where(strand["frames"], root), -1, None,
        "blocked" if blocked else idle, tuple(holders.values()), tuple(Frame(*frame) for frame in strand["frames"]),
    )  # fmt: skip


def _what(wait: dict[str, Any], holders: dict[int, Holding]) -> str:
    if wait["targets"]:
        names = [holding.who for holding in holders.values()]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"the end of {', '.join(names[:3])}{more}" if names else "the end of a thread or task"
    return wait["name"] or _WORDS.get(wait["channel"]) or words.kind_of(wait["channel"])


def _where(frames: list[list[Any]], root: str) -> str:
    """Return `transfer, bank.py:10` for the innermost line of the program in frames, else for the innermost line."""
    own = [frame for frame in frames if root and frame[0].startswith(root) and "site-packages" not in frame[0]]
    for frame in own or frames:
        return f"{frame[2].rpartition('.<locals>.')[2]}, {words.base_name(frame[0])}:{frame[1]}"
    return ""


def _circle_claim(circle: list[dict[str, Any]], edges: dict[int, dict[int, Holding]], root: str) -> Claim:
    parts = []
    for number, strand in enumerate(circle):
        following = circle[(number + 1) % len(circle)]
        place = _where(strand["frames"], root)
        holders = edges[strand["id"]]
        what = _what(strand["wait"], {following["id"]: holders[following["id"]]})
        text = holders[following["id"]].text
        parts.append(f"{strand['name']} waits for {what} ({place})" + (f"; {text}" if text else ""))
    return Claim(f"{'. '.join(parts)}: a deadlock.", ())
