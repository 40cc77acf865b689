"""The panel's requests and answers as typed data; `clew.server.typescript` writes the TypeScript twin from this package.

Field names go over the wire as they stand, in camel case, so that both sides read the same words. Times are nanoseconds
as JSON numbers (exact below 2**53, which a run's relative times stay under). Events are row numbers of the run's graph.
A field with a default may be left out of a request; an answer has every field.
"""

from __future__ import annotations

from clew.server.protocol.aggregates import AggregateBox as AggregateBox
from clew.server.protocol.aggregates import AggregateContainer as AggregateContainer
from clew.server.protocol.aggregates import AggregateEdge as AggregateEdge
from clew.server.protocol.aggregates import AggregateParams as AggregateParams
from clew.server.protocol.aggregates import AggregateResult as AggregateResult
from clew.server.protocol.compares import CompareCall as CompareCall
from clew.server.protocol.compares import CompareDifference as CompareDifference
from clew.server.protocol.compares import CompareEdge as CompareEdge
from clew.server.protocol.compares import CompareGraph as CompareGraph
from clew.server.protocol.compares import CompareNode as CompareNode
from clew.server.protocol.compares import CompareParams as CompareParams
from clew.server.protocol.compares import ComparePrecursor as ComparePrecursor
from clew.server.protocol.compares import CompareResult as CompareResult
from clew.server.protocol.compares import CompareRow as CompareRow
from clew.server.protocol.compares import CompareThresholds as CompareThresholds
from clew.server.protocol.diffs import DiffEdge as DiffEdge
from clew.server.protocol.diffs import DiffNode as DiffNode
from clew.server.protocol.diffs import DiffParams as DiffParams
from clew.server.protocol.diffs import DiffResult as DiffResult
from clew.server.protocol.diffs import DiffRow as DiffRow
from clew.server.protocol.entities import EntitiesParams as EntitiesParams
from clew.server.protocol.entities import EntitiesResult as EntitiesResult
from clew.server.protocol.entities import EntityBox as EntityBox
from clew.server.protocol.entities import EntityEventsParams as EntityEventsParams
from clew.server.protocol.entities import EntityEventsResult as EntityEventsResult
from clew.server.protocol.entities import EntityHappening as EntityHappening
from clew.server.protocol.entities import EntityLine as EntityLine
from clew.server.protocol.entities import EntityName as EntityName
from clew.server.protocol.entities import EntityOrigin as EntityOrigin
from clew.server.protocol.entities import EntityParams as EntityParams
from clew.server.protocol.entities import EntityResult as EntityResult
from clew.server.protocol.hosts import ClientOptions as ClientOptions
from clew.server.protocol.hosts import CursorMessage as CursorMessage
from clew.server.protocol.hosts import HostMessage as HostMessage
from clew.server.protocol.hosts import OpenMessage as OpenMessage
from clew.server.protocol.hosts import PanelMessage as PanelMessage
from clew.server.protocol.hosts import ReadyMessage as ReadyMessage
from clew.server.protocol.hosts import RevealMessage as RevealMessage
from clew.server.protocol.hosts import RunsChangedMessage as RunsChangedMessage
from clew.server.protocol.live import RunGrew as RunGrew
from clew.server.protocol.live import RunGrewMessage as RunGrewMessage
from clew.server.protocol.localizes import LocalizeCluster as LocalizeCluster
from clew.server.protocol.localizes import LocalizeEvidence as LocalizeEvidence
from clew.server.protocol.localizes import LocalizeParams as LocalizeParams
from clew.server.protocol.localizes import LocalizeResult as LocalizeResult
from clew.server.protocol.localizes import LocalizeSuspect as LocalizeSuspect
from clew.server.protocol.localizes import LocalizeThresholds as LocalizeThresholds
from clew.server.protocol.logs import RecognisedLine as RecognisedLine
from clew.server.protocol.logs import RecogniseParams as RecogniseParams
from clew.server.protocol.logs import RecogniseResult as RecogniseResult
from clew.server.protocol.own import SqlParams as SqlParams
from clew.server.protocol.own import SqlResult as SqlResult
from clew.server.protocol.own import ViewFile as ViewFile
from clew.server.protocol.own import ViewsParams as ViewsParams
from clew.server.protocol.own import ViewsResult as ViewsResult
from clew.server.protocol.paths import CriticalPathParams as CriticalPathParams
from clew.server.protocol.paths import CriticalPathResult as CriticalPathResult
from clew.server.protocol.paths import PathBranch as PathBranch
from clew.server.protocol.paths import PathSegment as PathSegment
from clew.server.protocol.paths import PathSlack as PathSlack
from clew.server.protocol.paths import WhatIfParams as WhatIfParams
from clew.server.protocol.paths import WhatIfResult as WhatIfResult
from clew.server.protocol.pattern_looks import PatternDiagram as PatternDiagram
from clew.server.protocol.pattern_looks import PatternInside as PatternInside
from clew.server.protocol.pattern_looks import PatternLane as PatternLane
from clew.server.protocol.pattern_looks import PatternMove as PatternMove
from clew.server.protocol.pattern_looks import PatternOccurrence as PatternOccurrence
from clew.server.protocol.pattern_looks import PatternOccurrenceParams as PatternOccurrenceParams
from clew.server.protocol.pattern_looks import PatternOccurrenceResult as PatternOccurrenceResult
from clew.server.protocol.pattern_looks import PatternState as PatternState
from clew.server.protocol.pattern_looks import PatternTimesParams as PatternTimesParams
from clew.server.protocol.pattern_looks import PatternTimesResult as PatternTimesResult
from clew.server.protocol.patterns import PatternLine as PatternLine
from clew.server.protocol.patterns import PatternRow as PatternRow
from clew.server.protocol.patterns import PatternsParams as PatternsParams
from clew.server.protocol.patterns import PatternsResult as PatternsResult
from clew.server.protocol.patterns import PatternStrand as PatternStrand
from clew.server.protocol.patterns import PatternStretch as PatternStretch
from clew.server.protocol.patterns import PatternSuccession as PatternSuccession
from clew.server.protocol.recordings import ProgressParams as ProgressParams
from clew.server.protocol.recordings import ProgressResult as ProgressResult
from clew.server.protocol.recordings import Recordable as Recordable
from clew.server.protocol.recordings import RecordableParams as RecordableParams
from clew.server.protocol.recordings import RecordableResult as RecordableResult
from clew.server.protocol.sessions import ChooseBaselineParams as ChooseBaselineParams
from clew.server.protocol.sessions import LocateParams as LocateParams
from clew.server.protocol.sessions import LocateResult as LocateResult
from clew.server.protocol.sessions import PresentParams as PresentParams
from clew.server.protocol.sessions import PresentResult as PresentResult
from clew.server.protocol.sessions import RunsParams as RunsParams
from clew.server.protocol.sessions import RunsResult as RunsResult
from clew.server.protocol.sessions import SelectRunParams as SelectRunParams
from clew.server.protocol.sessions import SourceParams as SourceParams
from clew.server.protocol.sessions import SourceResult as SourceResult
from clew.server.protocol.shared import ErrorResult as ErrorResult
from clew.server.protocol.shared import Location as Location
from clew.server.protocol.shared import MachineRef as MachineRef
from clew.server.protocol.shared import MissingEvents as MissingEvents
from clew.server.protocol.shared import ProcessRef as ProcessRef
from clew.server.protocol.shared import RunRef as RunRef
from clew.server.protocol.shared import Target as Target
from clew.server.protocol.slices import ChainStep as ChainStep
from clew.server.protocol.slices import GraphEdge as GraphEdge
from clew.server.protocol.slices import GraphNode as GraphNode
from clew.server.protocol.slices import Numbers as Numbers
from clew.server.protocol.slices import SliceParams as SliceParams
from clew.server.protocol.slices import SliceResult as SliceResult
from clew.server.protocol.timelines import TimelineArrow as TimelineArrow
from clew.server.protocol.timelines import TimelineArrowsParams as TimelineArrowsParams
from clew.server.protocol.timelines import TimelineArrowsResult as TimelineArrowsResult
from clew.server.protocol.timelines import TimelineCall as TimelineCall
from clew.server.protocol.timelines import TimelineCallParams as TimelineCallParams
from clew.server.protocol.timelines import TimelineCallResult as TimelineCallResult
from clew.server.protocol.timelines import TimelineFunction as TimelineFunction
from clew.server.protocol.timelines import TimelineGap as TimelineGap
from clew.server.protocol.timelines import TimelineLane as TimelineLane
from clew.server.protocol.timelines import TimelineMatch as TimelineMatch
from clew.server.protocol.timelines import TimelineParams as TimelineParams
from clew.server.protocol.timelines import TimelineProcess as TimelineProcess
from clew.server.protocol.timelines import TimelineResult as TimelineResult
from clew.server.protocol.timelines import TimelineSearchParams as TimelineSearchParams
from clew.server.protocol.timelines import TimelineSearchResult as TimelineSearchResult
from clew.server.protocol.timelines import TimelineStrand as TimelineStrand
from clew.server.protocol.timelines import TimelineTileParams as TimelineTileParams
from clew.server.protocol.timelines import TimelineTileResult as TimelineTileResult
from clew.server.protocol.walks import WalkCard as WalkCard
from clew.server.protocol.walks import WalkEnd as WalkEnd
from clew.server.protocol.walks import WalkFact as WalkFact
from clew.server.protocol.walks import WalkParams as WalkParams
from clew.server.protocol.walks import WalkResult as WalkResult
from clew.server.protocol.walks import WalkWay as WalkWay
from clew.server.protocol.wizards import WizardAnswer as WizardAnswer
from clew.server.protocol.wizards import WizardChoice as WizardChoice
from clew.server.protocol.wizards import WizardParams as WizardParams
from clew.server.protocol.wizards import WizardQuestion as WizardQuestion
from clew.server.protocol.wizards import WizardResult as WizardResult
from clew.server.protocol.wizards import WizardRow as WizardRow
from clew.server.protocol.wizards import WizardStep as WizardStep

PROTOCOL_VERSION = 1

METHODS: dict[str, tuple[type, type]] = {
    "clew/runs": (RunsParams, RunsResult),
    "clew/selectRun": (SelectRunParams, RunsResult),
    "clew/chooseBaseline": (ChooseBaselineParams, RunsResult),
    "clew/slice": (SliceParams, SliceResult),
    "clew/criticalPath": (CriticalPathParams, CriticalPathResult),
    "clew/whatIf": (WhatIfParams, WhatIfResult),
    "clew/diff": (DiffParams, DiffResult),
    "clew/compare": (CompareParams, CompareResult),
    "clew/localize": (LocalizeParams, LocalizeResult),
    "clew/patterns": (PatternsParams, PatternsResult),
    "clew/patternTimes": (PatternTimesParams, PatternTimesResult),
    "clew/patternOccurrence": (PatternOccurrenceParams, PatternOccurrenceResult),
    "clew/patternDiagram": (PatternsParams, PatternDiagram),
    "clew/aggregate": (AggregateParams, AggregateResult),
    "clew/timeline": (TimelineParams, TimelineResult),
    "clew/timelineTile": (TimelineTileParams, TimelineTileResult),
    "clew/timelineArrows": (TimelineArrowsParams, TimelineArrowsResult),
    "clew/timelineCall": (TimelineCallParams, TimelineCallResult),
    "clew/timelineSearch": (TimelineSearchParams, TimelineSearchResult),
    "clew/entities": (EntitiesParams, EntitiesResult),
    "clew/entityEvents": (EntityEventsParams, EntityEventsResult),
    "clew/entity": (EntityParams, EntityResult),
    "clew/entityOrigin": (EntityParams, EntityOrigin),
    "clew/walk": (WalkParams, WalkResult),
    "clew/locate": (LocateParams, LocateResult),
    "clew/present": (PresentParams, PresentResult),
    "clew/source": (SourceParams, SourceResult),
    "clew/views": (ViewsParams, ViewsResult),
    "clew/sql": (SqlParams, SqlResult),
    "clew/recognise": (RecogniseParams, RecogniseResult),
    "clew/recordables": (RecordableParams, RecordableResult),
    "clew/progress": (ProgressParams, ProgressResult),
    "clew/wizard": (WizardParams, WizardResult),
}
"""Every request of the panel: over the language server as a custom request, over HTTP as POST /rpc with
{"method", "params"}."""

RUNS_CHANGED = "clew/runsChanged"
"""A notification of the server's, without data."""

RUN_GREW = "clew/runGrew"
"""A notification of the server's, with a `RunGrew`: at most one a second and run."""

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
)
"""Commands that code lenses and hovers name. Arguments: openSlice and why take one `SliceParams`, openCompare one
`CompareParams`, findSuspects one `LocalizeParams`; selectRun takes one `SelectRunParams` and chooseBaseline one
`ChooseBaselineParams`, or nothing: they ask. record takes one `RecordableParams`, whose `kind` says what of it is recorded
without asking, or nothing; the next two take nothing;
walk.start takes one `WalkParams`. showFunctions takes the uri of a spec and a position in front of a rule's patterns: what
`textDocument/definition` leads to there."""
