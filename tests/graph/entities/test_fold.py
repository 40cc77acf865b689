"""Compare the state of entities at a moment with a naive fold over the events in Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.entities import fold
from clew.graph.entities.events import ENDING_NS, EntityEvents, Happening
from clew.graph.entities.fold import Fold, State
from clew.graph.entities.nesting import Presence, nesting
from clew.graph.entities.playback import lines
from tests.support.examples import examples

P, D, C = Happening.POSITION, Happening.DELETION, Happening.COMMUNICATION
ENTITIES = 7


def made(said, entities=ENTITIES):
    kind, first, other = (np.array(column) for column in zip(*said, strict=True)) if said else ([], [], [])
    size = len(said)
    return EntityEvents(
        np.arange(size, dtype=np.int64) * 10, np.array(kind, np.uint8), np.array(first, np.int32),
        np.array(other, np.int32), np.arange(size, dtype=np.int64), np.zeros(size, np.uint32),
        [f"e{number}" for number in range(entities)], ["thing"] * entities,
    )  # fmt: skip


def sequences(entities=ENTITIES, most=60):
    one = st.integers(0, entities - 1)
    event = st.one_of(
        st.tuples(st.just(P), one, st.integers(-1, entities - 1)),
        st.tuples(st.just(D), one, st.just(-1)),
        st.tuples(st.just(C), one, one),
    )
    return st.lists(event, max_size=most)


def naive(said):
    """Return the place of each entity, the deleted entities, and how often each sent and received."""
    place, gone, sent, received = {}, set(), Counter(), Counter()
    for kind, first, other in said:
        if kind == P:
            place[first] = other
            gone.discard(first)
        elif kind == D:
            place.pop(first, None)
            gone.add(first)
        else:
            sent[first] += 1
            received[other] += 1
    return place, gone, sent, received


def played(events, moment):
    state = State.empty(events.entities)
    for _ in range(moment):
        state.apply(events)
    return state


@given(sequences())
def test_fold_undo_restores_every_earlier_state(said):
    events = made(said)
    state, before = State.empty(ENTITIES), []
    for _ in said:
        before.append(state.copy())
        state.apply(events)
    for expected in reversed(before):
        state.undo(events)
        assert state.equals(expected)


@given(sequences(), st.lists(st.booleans(), max_size=80))
def test_fold_state_does_not_depend_on_the_way_to_its_moment(said, steps):
    events = made(said)
    state = State.empty(ENTITIES)
    for forward in steps:
        if forward and state.moment < len(said):
            state.apply(events)
        elif not forward and state.moment:
            state.undo(events)
    assert state.equals(played(events, state.moment))


@given(sequences(), st.integers(1, 9), st.integers(-2, 70))
def test_fold_seek_equals_playing_from_the_start(said, every, moment):
    events = made(said, entities=ENTITIES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold, "NEAR", every)
        found = Fold(events).at(moment)
    assert found.equals(played(events, min(max(0, moment), len(said))))


def test_fold_beyond_first_or_last_event_raises_index_error():
    events = made([(P, 0, -1)])
    state = State.empty(ENTITIES)
    with pytest.raises(IndexError):
        state.undo(events)
    state.apply(events)
    with pytest.raises(IndexError):
        state.apply(events)


@given(sequences())
def test_nesting_of_fold_equals_naive_fold(said):
    events = made(said)
    found = nesting(events, played(events, len(said)))
    place, gone, sent, received = naive(said)
    holders = set(place.values())
    for entity in range(ENTITIES):
        presence = Presence(int(found.presence[entity]))
        talked = sent[entity] + received[entity] > 0
        if entity in place:
            expected = Presence.THERE
        elif entity in gone:
            expected = Presence.GONE if entity in holders else Presence.UNKNOWN
        else:
            expected = Presence.UNPLACED if talked or entity in holders else Presence.UNKNOWN
        assert presence == expected
        if entity not in found.inside_itself:
            assert found.container[entity] == place.get(entity, -1)


def ancestors(container, entity):
    path = []
    while (entity := int(container[entity])) >= 0:
        assert len(path) <= ENTITIES, "containers form a circle"
        path.append(entity)
    return path


@given(sequences())
def test_nesting_of_any_events_is_a_forest(said):
    events = made(said)
    found = nesting(events, played(events, len(said)))
    paths = [ancestors(found.container, entity) for entity in range(ENTITIES)]
    assert [len(path) for path in paths] == found.depth.tolist()
    inside = Counter(above for path in paths for above in path)
    assert [inside[entity] for entity in range(ENTITIES)] == found.holds.tolist()
    for entity in range(ENTITIES):
        assert found.path(entity) == paths[entity][::-1]
    place = naive(said)[0]
    for entity in found.inside_itself:
        # Following the recorded containers leads back to the entity.
        at = place[entity]
        for _ in range(ENTITIES):
            if at == entity:
                break
            at = place[at]
        assert at == entity


def test_nesting_of_entities_inside_each_other_puts_last_moved_outside():
    events = made([(P, 1, 0), (P, 0, -1), (P, 2, 1), (P, 0, 2)])
    found = nesting(events, played(events, 4))
    assert found.inside_itself == {0}
    assert found.container.tolist()[:3] == [-1, 0, 1]
    events = made([(P, 3, 3)])
    assert nesting(events, played(events, 1)).inside_itself == {3}


@given(sequences(), st.integers(0, ENTITIES), st.integers(-1, ENTITIES - 1))
def test_nesting_chosen_entities_hold_most_and_include_containers(said, most, inside):
    events = made(said)
    found = nesting(events, played(events, len(said)))
    chosen = found.chosen(most, inside).tolist()
    there = [entity for entity in range(ENTITIES) if found.presence[entity]]
    if inside >= 0:
        there = [entity for entity in there if inside in ancestors(found.container, entity)]
    assert chosen == sorted(chosen) and set(chosen) <= set(there) and len(chosen) == min(most, len(there))
    for entity in chosen:
        for above in ancestors(found.container, entity):
            if above == inside:
                break
            assert above in chosen
    left = [found.holds[entity] for entity in there if entity not in chosen]
    assert not left or not chosen or max(left) <= min(found.holds[entity] for entity in chosen)


@settings(max_examples=examples(60))
@given(sequences(), st.integers(0, 60), st.integers(0, 60), st.integers(0, ENTITIES), st.integers(0, 9))
def test_lines_sum_communications_between_shown_entities(said, begin, length, most, most_lines):
    events = made(said)
    begin = min(begin, len(said))
    end = min(begin + length, len(said))
    found = nesting(events, played(events, end))
    shown = found.chosen(most)
    summed = lines(events, begin, end, found.lifted(shown), shown=len(shown), most=most_lines)

    def seen_as(entity):
        return next((one for one in [entity, *ancestors(found.container, entity)] if one in shown), None)

    expected, last, unseen = Counter(), {}, 0
    for place, (kind, first, other) in enumerate(said[begin:end], begin):
        if kind == C:
            pair = seen_as(first), seen_as(other)
            if None in pair or pair[0] == pair[1]:
                unseen += 1
            else:
                expected[pair] += 1
                last[pair] = place
    rows = zip(shown[summed.source].tolist(), shown[summed.target].tolist(), summed.count, summed.last, strict=True)
    got = {(a, b): (count, at) for a, b, count, at in rows}
    assert summed.unseen == unseen
    assert len(got) == min(most_lines, len(expected)) and summed.hidden == len(expected) - len(got)
    for pair, (count, at) in got.items():
        assert (count, at) == (expected[pair], last[pair])
    left = [count for pair, count in expected.items() if pair not in got]
    assert not left or not got or max(left) <= min(count for count, _ in got.values())


@given(sequences(), st.integers(0, ENTITIES - 1), st.integers(0, 60), st.integers(0, 10))
def test_about_returns_last_events_of_an_entity(said, entity, moment, most):
    moment = min(moment, len(said))
    expected = [place for place in range(moment) if entity in said[place][1:]][::-1][:most]
    assert made(said).about(entity, moment, most) == expected


@given(sequences(), st.lists(st.integers(0, 60), max_size=4))
def test_fold_that_grows_equals_fold_of_all_events(said, ends):
    grown = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold, "NEAR", 5)
        for end in [*sorted(min(end, len(said)) for end in ends), len(said)]:
            # Entities are numbered in the order of their first events.
            known = 1 + max((max(first, other) for _, first, other in said[:end]), default=-1)
            grown = Fold(made(said[:end], known), grown)
            whole = Fold(made(said[:end], known))
            assert all(grown.at(moment).equals(whole.at(moment)) for moment in range(end + 1))
    assert grown.bytes <= 24 * len(said) + 12 * ENTITIES


@given(sequences(), st.integers(0, 20), st.integers(0, 300))
def test_before_end_is_fullest_moment_of_last_second(said, last, within):
    said = said + [(D, number % ENTITIES, -1) for number in range(last)]
    events = replace(made(said), ns=np.arange(len(said), dtype=np.int64) * (ENDING_NS // 10) + within)
    there = [len(naive(said[:moment])[0]) for moment in range(len(said) + 1)]
    end = len(said)
    while end and said[end - 1][0] == D:
        end -= 1
    found = events.before_end
    if end in (0, len(said)):
        assert found == end
        return
    # A second has ten events; the event at its first instant is already past.
    since = max(0, end - 10)
    assert found == max(moment for moment in range(since, end + 1) if there[moment] == max(there[since : end + 1]))
    assert events.gone(found) == there[found] - there[-1]
