"""Define the plan without a spec: the project's own functions, the causality of the standard library, log lines."""

from __future__ import annotations

from pathlib import Path

from clew.records.plan.plan import LogCapture, Plan, Rule, Target

OUTPUTS = "outputs"
"""The adapter that records lines on the descriptors 1 and 2."""
PAUSES = "pauses"
"""The adapter that records when threads do not run."""
FACTS = ("exceptions", OUTPUTS, PAUSES)
"""Adapters of every plan, unless it says otherwise: exceptions, lines that the program writes, pauses of threads."""
ADAPTERS = (
    "threads", "locks", "callbacks", "executors", "queues", "tasks", "processes", "http", "sockets", "redis_values",
    "sqlite_locks", *FACTS,
)  # fmt: skip
WARNING = 30
"""The least level of log lines that a plan records whose spec does not mention log lines."""
BUDGET = 0.03
QUOTA = 2 << 30


def default_plan(workspace: Path) -> Plan:
    """Return the plan without a spec for a program whose source is below `workspace`."""
    return Plan(
        rules=(Rule(Target("**", "**", root=str(workspace)), origin="the default"),),
        adapters=ADAPTERS,
        logs=LogCapture(),
        budget=BUDGET,
        quota=QUOTA,
        spec=f"no spec: functions below {workspace}, causality of the standard library, log lines",
    )
