"""Name the subject of a wait, in a word and in a sentence.

Invariant: every edge has a word; a channel without one in the table of mechanisms is called by its name.
"""

from __future__ import annotations

from clew.graph.model.graph import ExecutionGraph
from clew.server.text import units
from clew.server.text.mechanisms import mechanism

PAUSE = "sleep or pause"


def waited_for(graph: ExecutionGraph, edge: int) -> str:
    """Return a word for the subject of the wait that `edge` ended; -1 means that no edge was recorded."""
    if edge < 0:
        return PAUSE
    channel = graph.strings[int(graph.edge_channel[edge])]
    if word := mechanism(channel).wait:
        return word
    return "another process" if _crosses(graph, edge) else channel or "another thread or task"


def wait_sentence(graph: ExecutionGraph, edge: int) -> str:
    """Return a sentence about the event that ended the wait, and the call that it came through; "" without an edge."""
    if edge < 0:
        return ""
    source, target = int(graph.edge_src[edge]), int(graph.edge_dst[edge])
    by, strand = graph.owner_of(source), graph.strand_of(source)
    who = units.short_label(graph.sites[int(graph.site[by])].label) if by >= 0 else f"{strand.kind} {strand.name}"
    where = f" in {graph.process_of(source).name}" if _crosses(graph, edge) else ""
    site = graph.sites[int(graph.site[target])]
    through = f", through {units.short_label(site.label)}" if site.kind == "adapter" and site.qualname else ""
    return f"ended by {who}{where}{through}"


def _crosses(graph: ExecutionGraph, edge: int) -> bool:
    process = graph.strand_process
    ends = graph.strand[graph.edge_src[edge]], graph.strand[graph.edge_dst[edge]]
    return bool(process[ends[0]] != process[ends[1]])
