"""The panel's requests and answers as typed data; `clew.server.protocol.generate_typescript` generates the TypeScript
types from this package.

Field names are the names on the wire, in camel case, so that both sides use the same words. Times are nanoseconds as
JSON numbers (exact below 2**53, which a run's relative times stay under). Events are row numbers of the run's graph. A
request may omit fields with a default; an answer has every field.
"""

from __future__ import annotations

PROTOCOL_VERSION = 1

RUNS_CHANGED = "clew/runsChanged"
"""A notification of the server without data."""

RUN_GREW = "clew/runGrew"
"""A notification of the server with a `RunGrew`: at most one per second and run."""

COMMANDS = (
    "clew.openSlice",
    "clew.why",
    "clew.openCompare",
    "clew.findSuspects",
    "clew.selectRun",
    "clew.chooseBaseline",
    "clew.record",
    "clew.recordAgain",
    "clew.stopRecording",
    "clew.walk.start",
    "clew.showFunctions",
    "clew.lastValues",
    "clew.whoWrote",
    "clew.openHistory",
)
"""Commands in code lenses and hovers. Arguments: openSlice and why take one `SliceParams`, openCompare one
`CompareParams`, findSuspects one `LocalizeParams`. selectRun takes one `SelectRunParams` and chooseBaseline one
`ChooseBaselineParams`; without an argument both ask the user. record takes nothing, or one `RecordableParams`, whose
`kind` selects the target that is recorded without asking. The next two take nothing; walk.start takes one `WalkParams`.
showFunctions takes the uri of a spec and a position before a rule's patterns, and shows the targets of
`textDocument/definition` there. lastValues, whoWrote and openHistory take one `HistoryParams`."""
