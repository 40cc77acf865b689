"""Sampling for the recorder written in Python: which request flow a thread works for, and whether that flow is recorded.

The twin of `csrc/flows.h`, which says how it works; here every record asks. Invariant: both leave out the same records.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace

from clew.instrument.recorder.chunks import Chunk
from clew.records.event import EXTENSION_HEAD, Kind
from clew.records.header import CHUNK_HEADER_SIZE

NONE, KEPT, DROPPED = range(3)
_BY_NOTHING, _BY_STRAND, _BY_SCOPE, _BY_RECEIVE, _BY_REQUEST = range(5)
_MARK = 0xC1E55A
_MASK = 0xFFFF_FFFF_FFFF_FFFF
_MOST_KEYS, _MOST_STRANDS = 1 << 17, 1 << 15
_KEYED_WORDS = 4


@dataclass
class Flow:
    state: int = NONE
    origin: int = _BY_NOTHING
    pending: bool = False
    whole: bool = False
    channel: int = 0
    owner: int = 0
    frames: int = 0
    open: bool = True
    step: int = 0
    step_site: int = 0


class _Here(threading.local):
    def __init__(self) -> None:
        self.epoch = -1
        self.begin(-1)

    def begin(self, epoch: int) -> None:
        self.epoch = epoch
        self.flow = Flow()
        self.outer: list[Flow] = []
        self.frames: list[int] = []
        self.born = False


class Flows:
    """The flows of this process's recording."""

    def __init__(self) -> None:
        self.on = False
        self._here = _Here()
        self.start(1.0, 0, 0)

    def start(self, share: float, uid: int, epoch: int) -> None:
        self.on = 0 <= share < 1
        self.kept = self.dropped = 0
        self._share, self._epoch, self._number = share, epoch, _mix(uid)
        self._keys: OrderedDict[int, int] = OrderedDict()
        self._strands: OrderedDict[int, Flow] = OrderedDict()

    def _now(self) -> _Here:
        here = self._here
        if here.epoch != self._epoch:
            here.begin(self._epoch)
        return here

    def state(self) -> int:
        return self._now().flow.state if self.on else NONE

    def mark(self, key: int) -> int:
        return _MARK << 40 | key & 0xFF_FFFF_FFFC | self.state() if self.on else key

    def of_key(self, key: int) -> int:
        if key >> 40 == _MARK:
            return key & 3 if key & 3 <= DROPPED else NONE
        return self._keys.get(key, NONE)

    def send(self, key: int, state: int) -> None:
        if key >> 40 == _MARK:
            return
        self._keys.pop(key, None)
        if state:
            self._keys[key] = state
            if len(self._keys) > _MOST_KEYS:
                self._keys.popitem(last=False)

    def admits(self, word: int, extension: bytes, chunk: Chunk | None) -> bool:
        """Is a record to be stored? `chunk` is the calling thread's, None while it has none."""
        if extension:
            _, _, channel, key = EXTENSION_HEAD.unpack_from(extension)
            return self._admits(word & 0xFF, word >> 32, key, channel, chunk)
        return self._admits_plain(word & 0xFF, word >> 32)

    def _admits(self, kind: int, site: int, key: int, channel: int, chunk: Chunk | None) -> bool:
        here = self._now()
        flow = here.flow
        first = chunk is None and not here.outer and not here.born
        here.born = True
        if flow.pending and kind != Kind.JOIN:
            flow.pending = False
        match kind:
            case Kind.SEND:
                self.send(key, flow.state)
            case Kind.JOIN if flow.pending or first:
                state = self.of_key(key)
                if flow.pending and state == DROPPED and chunk is not None:
                    _unwrite(chunk, _KEYED_WORDS)  # its STEP_BEGIN
                    flow.open = False
                flow.pending = False
                flow.state, flow.origin = state, _BY_STRAND if state else _BY_NOTHING
            case Kind.STEP_BEGIN:
                known = self._strands.get(key)
                here.outer.append(flow)
                here.flow = flow = replace(
                    known or Flow(pending=True), frames=len(here.frames), step=key, step_site=site
                )
                flow.open = flow.state != DROPPED
            case Kind.SCOPE_BEGIN:
                state = (self.of_key(key) if key else NONE) or flow.state
                here.outer.append(flow)
                here.flow = Flow(
                    state, _BY_SCOPE if state else _BY_NOTHING, frames=len(here.frames), open=state != DROPPED
                )
            case Kind.STEP_END | Kind.SCOPE_END:
                if here.outer:
                    if kind == Kind.STEP_END:
                        self._strands.pop(key, None)
                        self._strands[key] = flow
                        if len(self._strands) > _MOST_STRANDS:
                            self._strands.popitem(last=False)
                    del here.frames[flow.frames :]
                    here.flow = here.outer.pop()
                return flow.open
            case Kind.RECEIVE if not flow.state or (flow.origin == _BY_RECEIVE and flow.channel == channel):
                state = self.of_key(key)
                if flow.state:
                    self._end(here)
                if state:
                    self._begin(here, Flow(state, _BY_RECEIVE, channel=channel), chunk)
            case Kind.REQUEST if not flow.state:
                self._begin(here, Flow(self._decide(), _BY_REQUEST, owner=site), chunk)
        return here.flow.state != DROPPED

    def _admits_plain(self, kind: int, site: int) -> bool:
        here = self._now()
        flow = here.flow
        here.born = True
        dropped = flow.state == DROPPED
        if flow.state and flow.owner:
            match kind:
                case Kind.RESUME if len(here.frames) == flow.frames and site == flow.owner:
                    pass
                case Kind.ENTER | Kind.RESUME:
                    here.frames.append(site)
                case Kind.SUSPEND:
                    _pop_frame(here, site)
                case Kind.EXIT | Kind.UNWIND:
                    if not _pop_frame(here, site) and site == flow.owner:
                        self._end(here)
                        return not (dropped and flow.whole)
        return not dropped

    def _decide(self) -> int:
        self._number = self._number + 1 & _MASK
        keep = (_mix(self._number) >> 11) / (1 << 53) < self._share
        if keep:
            self.kept += 1
        else:
            self.dropped += 1
        return KEPT if keep else DROPPED

    def _begin(self, here: _Here, flow: Flow, chunk: Chunk | None) -> None:
        entered = _last_enter(chunk)
        flow.owner = flow.owner or entered or _enclosing_site(chunk)
        flow.whole = bool(entered) and entered == flow.owner
        flow.frames = len(here.frames)
        around, here.flow = here.flow, flow
        flow.open, flow.step, flow.step_site = around.open, around.step, around.step_site
        if flow.whole and flow.state == DROPPED and chunk is not None:
            _unwrite(chunk, 2)

    def _end(self, here: _Here) -> None:
        del here.frames[here.flow.frames :]
        around = here.flow
        here.flow = Flow(frames=len(here.frames), open=around.open, step=around.step, step_site=around.step_site)

    def reopened(self) -> tuple[int, int]:
        """(strand, site) of a step whose beginning was left out and whose rest is recorded, to be stored now; else zeros."""
        flow = self._now().flow
        if flow.open or not flow.step or flow.state == DROPPED:
            return 0, 0
        flow.open = True
        return flow.step, flow.step_site


def _mix(value: int) -> int:
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33


def _pop_frame(here: _Here, site: int) -> bool:
    for place in range(len(here.frames) - 1, here.flow.frames - 1, -1):
        if here.frames[place] == site:
            del here.frames[place:]
            return True
    return False


def _unwrite(chunk: Chunk, words: int) -> None:
    chunk.place -= words
    for place in range(chunk.place, chunk.place + words):
        chunk.words[place] = 0


def _last_enter(chunk: Chunk | None) -> int:
    if chunk is None or chunk.place - 2 < CHUNK_HEADER_SIZE // 8:
        return 0
    ticks, word = chunk.words[chunk.place - 2], chunk.words[chunk.place - 1]
    return word >> 32 if ticks and word & 0xFFFF_FFFF == Kind.ENTER else 0


def _enclosing_site(chunk: Chunk | None) -> int:
    sites: list[int] = []
    place = CHUNK_HEADER_SIZE // 8
    while chunk is not None and place < chunk.place:
        word = chunk.words[place + 1]
        kind = word & 0xFF
        if kind in (Kind.ENTER, Kind.RESUME):
            sites.append(word >> 32)
        elif kind in (Kind.EXIT, Kind.UNWIND, Kind.SUSPEND):
            del sites[-1:]
        elif kind in (Kind.STEP_BEGIN, Kind.STEP_END):
            sites.clear()
        place += 2 + 2 * (word >> 8 & 0xFF)
    return sites[-1] if sites else 0
