"""The plan of whoever has no spec: the project's own functions, the causality of the standard library, log lines."""

from __future__ import annotations

from pathlib import Path

from clew.records.plan import LogCapture, Plan, Rule, Target

ADAPTERS = ("threads", "locks", "callbacks", "executors", "queues", "tasks", "processes", "http", "sockets")
BUDGET = 0.03
QUOTA = 2 << 30


def default_plan(workspace: Path) -> Plan:
    """What is recorded without a spec of a program whose source lies below `workspace`."""
    return Plan(
        rules=(Rule(Target("**", "**", root=str(workspace)), origin="the default"),),
        adapters=ADAPTERS,
        logs=LogCapture(),
        budget=BUDGET,
        quota=QUOTA,
        spec=f"no spec: functions below {workspace}, causality of the standard library, log lines",
    )
