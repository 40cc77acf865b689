"""Timestamps of log lines that `strftime` and similar functions wrote are read back."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.logs.timestamps import moments, stamps

SECOND = 10**9


def ms(at):
    return f"{at.microsecond // 1000:03}"


COMPLETE = {
    "iso": lambda at, zone: at.astimezone(zone).isoformat(timespec="milliseconds"),
    "iso with a comma": lambda at, zone: f"{at.astimezone(zone):%Y-%m-%d %H:%M:%S},{ms(at)}{at.astimezone(zone):%z}",
    "in UTC": lambda at, _: at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
    "basic": lambda at, _: at.strftime("%Y%m%dT%H%M%S.%f")[:-3] + "Z",
    "slashes": lambda at, zone: f"{at.astimezone(zone):%Y/%m/%d %H:%M:%S}.{ms(at)} {at.astimezone(zone):%z}",
    "seconds": lambda at, _: f"{at.timestamp():.3f}",
    "a field of seconds": lambda at, _: f'{{"level": "info", "ts": {at.timestamp():.3f}}}',
    "a field of milliseconds": lambda at, _: f"level=info time={round(at.timestamp() * 1000)}",
}  # fmt: skip
WITHOUT_ZONE = {
    "logging": lambda at: at.strftime("%Y-%m-%d %H:%M:%S,%f")[:-3],
    "in brackets": lambda at: at.strftime("[%m/%d/%y %H:%M:%S.%f")[:-3] + "]",
    "american": lambda at: f"{at:%m/%d/%Y %I:%M:%S}.{ms(at)} {at:%p}",
    "german": lambda at: at.strftime("%d.%m.%Y %H:%M:%S,%f")[:-3],
    "syslog": lambda at: at.strftime("%b %e %H:%M:%S.%f")[:-3],
    "ctime": lambda at: at.strftime("%a %b %e %H:%M:%S.%f")[:-3] + at.strftime(" %Y"),
    "glog": lambda at: at.strftime("I%m%d %H:%M:%S.%f")[:-3],
    "a time alone": lambda at: at.strftime("%H:%M:%S,%f")[:-3],
}  # fmt: skip
instants = st.integers(1_000_000_000_000, 4_000_000_000_000).map(
    lambda ms: datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=ms)
)
zones = st.sampled_from([-10, -5, -3.5, 0, 1, 5.5, 5.75, 9, 13]).map(lambda hours: timezone(timedelta(hours=hours)))


def ns(at):
    return round((at - datetime.fromtimestamp(0, UTC)) / timedelta(milliseconds=1)) * 10**6


@pytest.mark.parametrize("form", COMPLETE)
@given(at=instants, zone=zones)
def test_moments_complete_timestamp_is_one_moment(form, at, zone):
    (moment,) = moments(COMPLETE[form](at, zone))
    assert moment == (ns(at), ns(at) + 999_999, False)


@pytest.mark.parametrize("form", WITHOUT_ZONE)
@given(
    at=instants, zone=zones, lead=st.integers(0, 3000), words=st.sampled_from(["", "ERROR shop: 17 items", "- name"])
)
def test_timestamp_without_a_date_takes_it_from_the_run(form, at, zone, lead, words):
    span = (ns(at) - lead * 10**6, ns(at) + 5 * SECOND)
    found = moments(f"{WITHOUT_ZONE[form](at.astimezone(zone))} {words}", span)
    assert ns(at) in [moment.first for moment in found]
    # A zone that the text does not name is a guess.
    (own,) = [moment for moment in found if moment.first == ns(at)]
    assert own.guessed or zone.utcoffset(None) in (timedelta(0), at.astimezone().utcoffset())


@given(st.text(max_size=300))
def test_stamps_any_text_has_valid_positions(text):
    for stamp in stamps(text):
        assert 0 <= stamp.begin < stamp.end <= len(text)
        stamp.moments((1_700_000_000 * SECOND, 1_700_000_100 * SECOND))


@pytest.mark.parametrize(
    "text",
    [
        "no time",
        "2026-13-45 99:99:99",
        "chunk=1795266344 is gone",
        "fe80::1:22:33:44",
        "12:30:45:99",
        "version 1.13:05:44",
    ],
)
def test_stamps_text_without_timestamp_is_empty(text):
    assert stamps(text) == []


def test_moments_time_without_day_and_run_are_empty():
    assert moments("13:05:44,357 INFO x") == moments("Nov 21 13:05:44 host app: x") == []
    assert len(stamps("13:05:44,357 INFO x")) == 1


def test_moments_29th_of_february_is_in_a_leap_year():
    at = datetime(2028, 2, 29, 12, 0, tzinfo=UTC)
    span = (ns(at), ns(at))
    assert ns(at) in [moment.first for moment in moments("Feb 29 12:00:00 host x", span)]
