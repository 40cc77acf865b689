"""Find the branch that decided that a line did not run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clew.graph.values.control_dependence import branches_above, successors
from clew.graph.values.flow import Flow, NodeKind


def deciding_branch(flow: Flow, codes: Iterable[int], line: int, call: int = -1) -> int:
    """Return the newest BRANCH node that kept a line from running, 0 if none did: an exception may have.

    The line belongs to one of `codes`, which are variants of one function. `call` is the call that is asked about; -1 for any.
    """
    return max((_in_code(flow, code, line, call) for code in codes), default=0)


def _in_code(flow: Flow, code: int, line: int, call: int) -> int:
    instructions = flow.trace.codes[code].instructions
    waiting = [at for at, one in enumerate(instructions) if one.line == line]
    if not waiting:
        return 0
    last: dict[int, int] = {}
    computed: set[int] = set()
    for node in range(1, len(flow)):
        own = flow.call[node]
        if own >= 0 and flow.calls[own].code == code and (call < 0 or own == call):
            computed.add(flow.instruction[node])
            if flow.kind[node] == NodeKind.BRANCH:
                last[flow.instruction[node]] = node
    ran = flow.ran.get(code, bytearray(len(instructions)))
    after = successors(instructions)

    def was_taken(way: int) -> bool:
        if call < 0 or not ran[way]:
            return bool(ran[way])
        # It ran in some call. Not every instruction computes a value, so where one may have raised nothing is known.
        is_cut = flow.calls[call].is_failed or any(one.name == "PUSH_EXC_INFO" for one in instructions)
        return is_cut or not computed.isdisjoint(_block(after, way))

    if any(ran[at] if call < 0 else at in computed for at in waiting):
        return 0
    above = branches_above(instructions)
    found = 0
    seen: set[int] = set()
    while waiting:
        at = waiting.pop()
        for branch in above[at]:
            if branch in seen:
                continue
            seen.add(branch)
            if branch not in last:
                # It did not run itself: a branch above it decided.
                waiting.append(branch)
                continue
            ways = [way for way in after[branch] if _leads_to(after, way, at, branch)]
            if ways and not any(was_taken(way) for way in ways):
                found = max(found, last[branch])
    return found


def _leads_to(after: Sequence[Sequence[int]], way: int, wanted: int, branch: int) -> bool:
    """Return whether a way out of a branch can reach an instruction without the branch."""
    waiting, seen = [way], {branch}
    while waiting:
        at = waiting.pop()
        if at == wanted:
            return True
        if at not in seen:
            seen.add(at)
            waiting += after[at]
    return False


def _block(after: Sequence[Sequence[int]], first: int) -> range:
    """Return the instructions that run one after the other from the first one on."""
    last = first
    while after[last] == [last + 1]:
        last += 1
    return range(first, last + 1)
