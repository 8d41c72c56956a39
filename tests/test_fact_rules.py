"""What a fact is, rule by rule (SPEC §3), each in one short example."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import connections, transaction

from prism_graph import FactStatus, Memory, Origin, PrismGraphError, Scope, Trust
from prism_graph.errors import (
    AmbiguousFact,
    FactConflict,
    FactNotFound,
    InvalidEvidence,
    InvalidInput,
    LimitExceeded,
    SupersedeRefused,
)
from prism_graph.records import FactView

pytestmark = pytest.mark.django_db

ACME = Scope("acme")
OWNER = ACME.for_owner("u1")
THREAD = OWNER.for_agent("support").for_thread("chat-1")
BESIDE = ACME.for_owner("u2")
MICROSECOND = timedelta(microseconds=1)


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


class Clock:
    """The system's clock, which a test sets."""

    now = day(10)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("prism_graph.clock._source", lambda: clock.now)
    return clock


@pytest.fixture
def memory() -> Memory:
    return Memory(OWNER)


def heard(memory: Memory, trust: Trust = Trust.USER, **more: Any) -> list[str]:
    """Store a new turn and return its id in a list."""
    return memory.record("chat", "I moved.", origin=Origin(trust, "w"), **more).added


def said(memory: Memory, value: str = "Oslo", trust: Trust = Trust.USER, **more: Any) -> Any:
    """Return what to state: where user-7 lives, on new evidence of this trust unless it is given."""
    about = {"subject": "user-7", "predicate": "lives in", "value": value}
    return {**about, "evidence": more.pop("evidence", None) or heard(memory, trust), **more}


def page_and_turn(memory: Memory, trust: Trust = Trust.USER) -> list[str]:
    page = memory.ingest("page", "I live in Oslo.", origin=Origin(trust)).added
    return [*page, *heard(memory, trust)]


def city(memory: Memory, **when: Any) -> str | None:
    """Return the value in force."""
    try:
        return memory.fact("city", **when).value
    except FactNotFound:
        return None


def cities(memory: Memory, *days: int) -> list[str | None]:
    return [city(memory, at=day(each)) for each in days]


def versions(memory: Memory) -> list[tuple[int, FactStatus]]:
    return sorted((view.version, view.status) for view in memory.timeline("user-7"))


def intervals(views: list[FactView]) -> list[tuple[str, datetime, datetime | None]]:
    return [(view.value, view.valid_from, view.valid_to) for view in views]


# versions


def test_a_version_says_what_was_said_and_cites_its_evidence(memory: Memory) -> None:
    evidence = heard(memory)
    view = memory.assert_fact("city", **said(memory, evidence=evidence))
    assert (view.key, view.version, view.scope) == ("city", 1, OWNER)
    assert (view.subject, view.predicate, view.value) == ("user-7", "lives in", "Oslo")
    assert view.status is FactStatus.ACCEPTED
    assert view.evidence == ((evidence[0], Trust.USER),)
    assert (view.contests, view.stale, view.shadowed) == (None, False, False)
    assert (view.valid_to, view.stated_valid_to, view.recorded_to) == (None, None, None)
    assert (view.decided_by, view.decided_at) == ("", view.recorded_from)
    assert len(view.id) <= 26
    assert memory.fact("city") == view


def test_evidence_is_given_as_ids_or_as_hits(memory: Memory) -> None:
    evidence = heard(memory)
    view = memory.assert_fact("city", **said(memory, evidence=memory.search("moved")))
    assert [cited.id for cited in view.evidence] == evidence


def test_versions_are_numbered_per_key_and_scope(memory: Memory) -> None:
    assert memory.assert_fact("city", **said(memory)).version == 1
    assert memory.supersede("city", **said(memory)).version == 2
    assert memory.assert_fact("plan", **said(memory)).version == 1
    assert Memory(BESIDE).assert_fact("city", **said(Memory(BESIDE))).version == 1


def test_the_number_of_an_erased_version_is_not_given_again(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory))
    memory.supersede("city", **said(memory))
    memory.erase_fact("city", 2)
    assert memory.supersede("city", **said(memory)).version == 3


def test_a_fact_that_lost_its_last_version_begins_anew(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory))
    memory.supersede("city", **said(memory))
    memory.erase_fact("city")
    assert memory.timeline("user-7") == []
    assert memory.assert_fact("city", **said(memory)).version == 1


# two clocks


def test_a_version_holds_from_when_it_was_recorded_unless_it_says_otherwise(
    memory: Memory, clock: Clock
) -> None:
    clock.now = day(12)
    evidence = heard(memory)
    clock.now = day(13)
    view = memory.assert_fact("city", **said(memory, evidence=evidence))
    assert view.valid_from == view.recorded_from == day(13)


def test_recorded_instants_increase_while_the_clock_stands_still(memory: Memory) -> None:
    evidence = heard(memory)
    first = memory.assert_fact("city", **said(memory, evidence=evidence))
    second = memory.supersede("city", **said(memory, evidence=evidence))
    assert second.recorded_from == first.recorded_from + MICROSECOND


def test_recorded_instants_increase_while_the_clock_goes_back(memory: Memory, clock: Clock) -> None:
    first = memory.assert_fact("city", **said(memory, "Oslo"))
    clock.now = day(2)
    second = memory.supersede("city", **said(memory, "Rome"))
    assert second.recorded_from > first.recorded_from
    assert city(memory) == "Rome"


def test_what_memory_held_at_an_instant_is_the_same_whenever_asked(
    memory: Memory, clock: Clock
) -> None:
    memory.assert_fact("city", **said(memory, "Oslo"))
    clock.now = day(12)
    before = memory.facts("user-7", known_at=day(11)), memory.timeline("user-7", known_at=day(11))
    memory.supersede("city", **said(memory, "Rome", valid_from=day(1)))
    memory.retract("city")
    assert city(memory, known_at=day(11)) == "Oslo"
    after = memory.facts("user-7", known_at=day(11)), memory.timeline("user-7", known_at=day(11))
    assert after == before


def test_valid_time_and_recorded_time_are_asked_apart(memory: Memory, clock: Clock) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(1)))
    clock.now = day(12)
    memory.supersede("city", **said(memory, "Rome", valid_from=day(5)))
    assert city(memory, at=day(6)) == "Rome"
    assert city(memory, at=day(6), known_at=day(11)) == "Oslo"


def test_an_instant_asked_of_the_past_is_by_default_the_one_it_was_known_at(
    memory: Memory, clock: Clock
) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(1), valid_to=day(12)))
    clock.now = day(20)
    assert city(memory) is None
    assert city(memory, known_at=day(11)) == "Oslo"


def test_intervals_hold_their_start_and_not_their_end(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, valid_from=day(3), valid_to=day(5)))
    assert city(memory, at=day(3) - MICROSECOND) is None
    assert city(memory, at=day(3)) == "Oslo"
    assert city(memory, at=day(5) - MICROSECOND) == "Oslo"
    assert city(memory, at=day(5)) is None


@pytest.mark.parametrize("end", [day(4), day(5)])
@pytest.mark.parametrize("method", ["assert_fact", "supersede"])
def test_an_end_not_after_the_start_is_refused(memory: Memory, method: str, end: datetime) -> None:
    memory.assert_fact("city", **said(memory))
    with pytest.raises(InvalidInput):
        getattr(memory, method)("city", **said(memory, valid_from=day(5), valid_to=end))
    with pytest.raises(InvalidInput):
        getattr(memory, method)("city", **said(memory, valid_to=end))
    assert versions(memory) == [(1, FactStatus.ACCEPTED)]


@pytest.mark.parametrize("given", [datetime(2026, 1, 5), "2026-01-05", "yesterday", 5])
@pytest.mark.parametrize("name", ["valid_from", "valid_to"])
def test_a_time_without_an_offset_is_refused(memory: Memory, name: str, given: Any) -> None:
    with pytest.raises(InvalidInput):
        memory.assert_fact("city", **said(memory, **{name: given}))
    for asked in ("at", "known_at"):
        with pytest.raises(InvalidInput):
            memory.facts(**{asked: given})


@pytest.mark.parametrize(
    "given",
    [
        "2026-01-05T00:00:00Z",
        "2026-01-05T02:00:00+02:00",
        datetime(2026, 1, 4, 19, tzinfo=timezone(-timedelta(hours=5))),
    ],
)
def test_times_are_text_or_aware_and_stored_in_utc(memory: Memory, given: Any) -> None:
    view = memory.assert_fact("city", **said(memory, valid_from=given))
    assert (view.valid_from, view.valid_from.utcoffset()) == (day(5), timedelta())
    assert city(memory, at=given) == "Oslo"


# in force


def test_each_version_holds_until_the_next_ones_start(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(1)))
    memory.supersede("city", **said(memory, "Rome", valid_from=day(5)))
    assert cities(memory, 1, 4, 5, 9) == ["Oslo", "Oslo", "Rome", "Rome"]
    assert intervals(memory.timeline("user-7")) == [
        ("Oslo", day(1), day(5)),
        ("Rome", day(5), None),
    ]


def test_a_stated_end_that_comes_first_leaves_a_gap(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(1), valid_to=day(3)))
    memory.supersede("city", **said(memory, "Rome", valid_from=day(5)))
    assert cities(memory, 2, 3, 4, 5) == ["Oslo", None, None, "Rome"]


def test_a_stated_end_after_the_next_start_does_not_count(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(1), valid_to=day(9)))
    memory.supersede("city", **said(memory, "Rome", valid_from=day(5)))
    oslo, _ = memory.timeline("user-7")
    assert (oslo.valid_to, oslo.stated_valid_to) == (day(5), day(9))


def test_what_ends_gives_nothing_back_to_the_version_before(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(1)))
    memory.supersede("city", **said(memory, "Rome", valid_from=day(5), valid_to=day(7)))
    assert cities(memory, 4, 6, 7, 8) == ["Oslo", "Rome", None, None]


def test_of_equal_starts_the_later_number_holds(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(1)))
    memory.supersede("city", **said(memory, "Rome", valid_from=day(1)))
    assert cities(memory, 1, 9) == ["Rome", "Rome"]
    assert intervals(memory.timeline("user-7")) == [
        ("Oslo", day(1), day(1)),
        ("Rome", day(1), None),
    ]


# the policy


@pytest.mark.parametrize(
    ("trust", "status"),
    [
        (Trust.USER, FactStatus.ACCEPTED),
        (Trust.DOCUMENT, FactStatus.ACCEPTED),
        (Trust.SYSTEM, FactStatus.PROPOSAL),
        (Trust.AGENT, FactStatus.BELIEF),
        (Trust.SUBAGENT, FactStatus.PROPOSAL),
        (Trust.CONSOLIDATOR, FactStatus.PROPOSAL),
        (Trust.TOOL, FactStatus.PROPOSAL),
    ],
)
def test_the_policy_judges_by_who_is_behind_the_evidence(
    memory: Memory, trust: Trust, status: FactStatus
) -> None:
    view = memory.assert_fact("city", **said(memory, trust=trust))
    assert view.status is status
    assert view.policy
    assert (city(memory) == "Oslo") is (status is FactStatus.ACCEPTED)


@pytest.mark.parametrize(
    ("trusts", "status"),
    [
        ([Trust.USER, Trust.DOCUMENT], FactStatus.ACCEPTED),
        ([Trust.AGENT, Trust.AGENT], FactStatus.BELIEF),
        ([Trust.USER, Trust.AGENT], FactStatus.PROPOSAL),
        ([Trust.USER, Trust.TOOL], FactStatus.PROPOSAL),
    ],
)
def test_one_trusted_chunk_does_not_launder_another(
    memory: Memory, trusts: list[Trust], status: FactStatus
) -> None:
    evidence = [heard(memory, trust)[0] for trust in trusts]
    assert memory.assert_fact("city", **said(memory, evidence=evidence)).status is status


def test_what_a_chunk_was_derived_from_counts(memory: Memory) -> None:
    page = heard(memory, Trust.TOOL)
    quoted = heard(memory, Trust.USER, derived_from=page)
    view = memory.assert_fact("city", **said(memory, evidence=quoted))
    assert view.status is FactStatus.PROPOSAL
    assert view.evidence == ((quoted[0], Trust.TOOL),)


class TrustNobody:
    def judge(self, cited: Any) -> FactStatus:
        return FactStatus.BELIEF


class Broken:
    def judge(self, cited: Any) -> FactStatus:
        raise ZeroDivisionError


class Nonsense:
    def judge(self, cited: Any) -> Any:
        return "yes, of course"


class Closing:
    def judge(self, cited: Any) -> FactStatus:
        return FactStatus.RETRACTED


@pytest.mark.parametrize(
    ("policy", "status"),
    [
        (TrustNobody, FactStatus.BELIEF),
        (Broken, FactStatus.PROPOSAL),
        (Nonsense, FactStatus.PROPOSAL),
        (Closing, FactStatus.PROPOSAL),
    ],
)
def test_a_project_gives_its_own_policy_and_a_broken_one_accepts_nothing(
    memory: Memory, settings: Any, policy: type, status: FactStatus
) -> None:
    settings.PRISM_GRAPH = {"ACCEPTANCE_POLICY": f"{__name__}.{policy.__name__}"}
    assert memory.assert_fact("city", **said(memory)).status is status


# evidence


def of_nobody(_: Memory) -> list[str]:
    return ["a" * 26]


def of_nothing(_: Memory) -> list[str]:
    return []


def of_a_scope_below(_: Memory) -> list[str]:
    return heard(Memory(THREAD))


def of_a_scope_beside(_: Memory) -> list[str]:
    return heard(Memory(BESIDE))


def retired(memory: Memory) -> list[str]:
    evidence = heard(memory)
    memory.retire_source("chat")
    return evidence


def erased(memory: Memory) -> list[str]:
    evidence = heard(memory)
    memory.erase("chat")
    return evidence


def partly_retired(memory: Memory) -> list[str]:
    return [*retired(memory), *heard(memory)]


@pytest.mark.parametrize("method", ["assert_fact", "supersede"])
@pytest.mark.parametrize(
    "of",
    [of_nobody, of_nothing, of_a_scope_below, of_a_scope_beside, retired, erased, partly_retired],
)
def test_evidence_must_be_there_and_visible_and_live(
    memory: Memory, of: Callable[[Memory], list[str]], method: str
) -> None:
    evidence = of(memory)
    with pytest.raises(InvalidEvidence):
        getattr(memory, method)("city", **{**said(memory), "evidence": evidence})
    assert memory.timeline("user-7") == []


def test_a_fact_may_cite_the_levels_above(memory: Memory) -> None:
    evidence = heard(Memory(ACME))
    view = Memory(THREAD).assert_fact("city", **said(memory, evidence=evidence))
    assert (view.scope, view.evidence) == (THREAD, ((evidence[0], Trust.USER),))


def test_more_than_fifty_citations_are_refused(memory: Memory) -> None:
    evidence = [heard(memory)[0] for _ in range(51)]
    with pytest.raises(LimitExceeded):
        memory.assert_fact("city", **said(memory, evidence=evidence))
    assert len(memory.assert_fact("city", **said(memory, evidence=evidence[1:])).evidence) == 50


# assert


def test_an_assertion_over_what_is_in_force_is_a_conflict(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(5)))
    for when in ({}, {"valid_from": day(5)}, {"valid_from": day(1)}, {"valid_from": day(8)}):
        with pytest.raises(FactConflict):
            memory.assert_fact("city", **said(memory, "Rome", **when))
    assert versions(memory) == [(1, FactStatus.ACCEPTED)]


def test_assertions_that_do_not_overlap_stand_beside_each_other(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(3), valid_to=day(5)))
    memory.assert_fact("city", **said(memory, "Rome", valid_from=day(5)))
    memory.assert_fact("city", **said(memory, "Lima", valid_from=day(1), valid_to=day(3)))
    assert cities(memory, 2, 4, 6) == ["Lima", "Oslo", "Rome"]


def test_an_assertion_does_not_see_the_levels_above(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo"))
    Memory(THREAD).assert_fact("city", **said(memory, "Rome"))
    assert (city(memory), city(Memory(THREAD))) == ("Oslo", "Rome")


@pytest.mark.parametrize("trust", [Trust.AGENT, Trust.TOOL])
def test_what_is_not_accepted_neither_blocks_nor_is_blocked(memory: Memory, trust: Trust) -> None:
    assert memory.assert_fact("city", **said(memory, "Lima", trust)).contests is None
    memory.assert_fact("city", **said(memory, "Oslo"))
    later = memory.assert_fact("city", **said(memory, "Rome", trust))
    assert (later.version, later.contests) == (3, 2)
    assert city(memory) == "Oslo"


def test_a_proposal_about_the_past_contests_what_held_then(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(1)))
    memory.supersede("city", **said(memory, "Rome", valid_from=day(5)))
    past = said(memory, "Lima", Trust.TOOL, valid_from=day(2), valid_to=day(4))
    assert memory.assert_fact("city", **past).contests == 1
    since = said(memory, "Lima", Trust.TOOL, valid_from=day(2))
    assert memory.assert_fact("city", **since).contests == 2


def test_a_proposal_before_everything_contests_the_first_that_it_would_cover(
    memory: Memory,
) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(15)))
    assert memory.assert_fact("city", **said(memory, "Lima", Trust.TOOL)).contests == 1
    until = said(memory, "Lima", Trust.TOOL, valid_to=day(15))
    assert memory.assert_fact("city", **until).contests is None


# supersede


def test_superseding_adds_one_version_and_keeps_the_history(memory: Memory, clock: Clock) -> None:
    memory.assert_fact("city", **said(memory, "Oslo"))
    clock.now = day(12)
    view = memory.supersede("city", **said(memory, "Rome"), actor="ann", reason="moved")
    assert (view.version, view.status, view.reason) == (2, FactStatus.ACCEPTED, "moved")
    assert (city(memory), city(memory, at=day(11))) == ("Rome", "Oslo")
    assert versions(memory) == [(1, FactStatus.ACCEPTED), (2, FactStatus.ACCEPTED)]


def test_superseding_what_is_not_there_is_refused(memory: Memory) -> None:
    with pytest.raises(FactNotFound):
        memory.supersede("city", **said(memory))
    memory.assert_fact("city", **said(memory))
    with pytest.raises(FactNotFound):
        Memory(THREAD).supersede("city", **said(memory))


@pytest.mark.parametrize("trust", [Trust.AGENT, Trust.TOOL])
def test_what_the_policy_does_not_accept_cannot_supersede_what_is_accepted(
    memory: Memory, trust: Trust
) -> None:
    memory.assert_fact("city", **said(memory, valid_to=day(12)))
    with pytest.raises(SupersedeRefused):
        memory.supersede("city", **said(memory, "Rome", trust, valid_from=day(20)))
    assert versions(memory) == [(1, FactStatus.ACCEPTED)]


def test_a_belief_supersedes_a_belief_as_one_more(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", Trust.AGENT))
    assert memory.supersede("city", **said(memory, "Rome", Trust.AGENT)).contests is None
    assert versions(memory) == [(1, FactStatus.BELIEF), (2, FactStatus.BELIEF)]


def test_a_key_whose_versions_are_all_closed_can_be_superseded(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo"))
    memory.retract("city")
    assert memory.supersede("city", **said(memory, "Rome")).version == 2
    assert city(memory) == "Rome"


def test_a_backdated_version_fills_history_up_to_the_next(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(1)))
    memory.supersede("city", **said(memory, "Rome", valid_from=day(9)))
    view = memory.supersede("city", **said(memory, "Lima", valid_from=day(5)))
    assert (view.valid_to, view.stated_valid_to) == (day(9), None)
    assert cities(memory, 4, 5, 8, 9) == ["Oslo", "Lima", "Lima", "Rome"]


def test_expecting_a_version_that_is_not_the_last_is_a_conflict(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo"))
    memory.supersede("city", **said(memory, "Rome"), expected=1)
    with pytest.raises(FactConflict):
        memory.supersede("city", **said(memory, "Lima"), expected=1)
    memory.supersede("city", **said(memory, "Lima"), expected=2)
    assert city(memory) == "Lima"


def test_what_is_expected_may_be_of_the_past(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(9)))
    memory.supersede("city", **said(memory, "Rome", valid_from=day(5)), expected=1)
    memory.assert_fact("city", **said(memory, "Lima", Trust.TOOL))
    memory.supersede("city", **said(memory, "Bern"), expected=2)


def test_nothing_can_be_expected_where_nothing_is_accepted(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, trust=Trust.TOOL))
    with pytest.raises(FactConflict):
        memory.supersede("city", **said(memory), expected=1)


# retract


def test_after_a_retraction_the_version_before_holds_again(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(1)))
    memory.supersede("city", **said(memory, "Rome", valid_from=day(5)))
    view = memory.retract("city", actor="ann", reason="a joke")
    assert (view.version, view.status) == (2, FactStatus.RETRACTED)
    assert (view.decided_by, view.reason, view.policy) == ("ann", "a joke", "")
    assert view.recorded_to == view.decided_at
    assert cities(memory, 4, 6) == ["Oslo", "Oslo"]


def test_a_retracted_version_between_two_leaves_its_time_to_the_first(memory: Memory) -> None:
    for value, start in (("Oslo", 1), ("Lima", 5), ("Rome", 8)):
        write = memory.supersede if start > 1 else memory.assert_fact
        write("city", **said(memory, value, valid_from=day(start)))
    memory.retract("city", version=2)
    assert cities(memory, 4, 6, 8) == ["Oslo", "Oslo", "Rome"]


def test_memory_still_knows_what_it_held_before_a_retraction(memory: Memory, clock: Clock) -> None:
    memory.assert_fact("city", **said(memory, "Oslo"))
    clock.now = day(12)
    memory.retract("city")
    assert (city(memory), city(memory, known_at=day(11))) == (None, "Oslo")
    (then,) = memory.timeline("user-7", known_at=day(11))
    assert (then.status, then.recorded_to) == (FactStatus.ACCEPTED, None)


def test_a_retraction_without_a_number_is_of_what_is_in_force(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(1)))
    memory.assert_fact("city", **said(memory, "Rome", Trust.TOOL))
    memory.supersede("city", **said(memory, "Lima", valid_from=day(20)))
    assert memory.retract("city").version == 1


def test_with_nothing_in_force_the_only_open_version_is_retracted(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Lima", Trust.TOOL))
    assert memory.retract("city").version == 1
    with pytest.raises(FactNotFound):
        memory.retract("city")


def test_with_nothing_in_force_and_several_open_one_must_be_named(memory: Memory) -> None:
    for value in ("Lima", "Bern"):
        memory.assert_fact("city", **said(memory, value, Trust.TOOL))
    with pytest.raises(AmbiguousFact):
        memory.retract("city")
    assert memory.retract("city", version=1).version == 1
    assert memory.retract("city").version == 2


@pytest.mark.parametrize("method", ["retract", "accept", "reject"])
def test_what_is_not_there_is_not_found(memory: Memory, method: str) -> None:
    decide = getattr(Memory(THREAD), method)
    with pytest.raises(FactNotFound):
        decide("city")
    memory.assert_fact("city", **said(memory, trust=Trust.TOOL))
    with pytest.raises(FactNotFound):
        decide("city")
    with pytest.raises(FactNotFound):
        getattr(memory, method)("city", version=2)
    memory.retract("city")
    with pytest.raises(FactNotFound):
        getattr(memory, method)("city", version=1)


# accept, reject


def test_an_app_accepts_a_proposal_and_it_takes_the_place_of_what_it_contested(
    memory: Memory, clock: Clock
) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(1)))
    memory.assert_fact("city", **said(memory, "Rome", Trust.TOOL, valid_from=day(8)))
    clock.now = day(12)
    view = memory.accept("city", actor="ann", reason="asked her")
    assert (view.version, view.status) == (2, FactStatus.ACCEPTED)
    assert (view.decided_by, view.reason, view.policy) == ("ann", "asked her", "")
    assert (view.valid_from, view.decided_at > view.recorded_from) == (day(8), True)
    assert cities(memory, 7, 8) == ["Oslo", "Rome"]


def test_an_accepted_proposal_was_a_proposal_before(memory: Memory, clock: Clock) -> None:
    memory.assert_fact("city", **said(memory, "Rome", Trust.TOOL))
    clock.now = day(12)
    memory.accept("city")
    assert (city(memory), city(memory, known_at=day(11))) == ("Rome", None)


def test_accepting_what_contested_another_version_is_a_conflict_unless_named(
    memory: Memory,
) -> None:
    memory.assert_fact("city", **said(memory, "Oslo"))
    memory.assert_fact("city", **said(memory, "Rome", Trust.TOOL))
    memory.supersede("city", **said(memory, "Lima"))
    with pytest.raises(FactConflict):
        memory.accept("city")
    with pytest.raises(FactConflict):
        memory.accept("city", over=1)
    assert memory.accept("city", over=3).status is FactStatus.ACCEPTED


def test_a_proposal_that_contested_nothing_is_a_conflict_once_something_is_in_force(
    memory: Memory,
) -> None:
    memory.assert_fact("city", **said(memory, "Rome", Trust.TOOL))
    memory.assert_fact("city", **said(memory, "Oslo"))
    with pytest.raises(FactConflict):
        memory.accept("city")
    assert versions(memory) == [(1, FactStatus.PROPOSAL), (2, FactStatus.ACCEPTED)]


def test_a_proposal_with_nothing_in_its_way_is_accepted_whatever_it_contested(
    memory: Memory,
) -> None:
    memory.assert_fact("city", **said(memory, "Oslo"))
    memory.assert_fact("city", **said(memory, "Rome", Trust.TOOL))
    memory.retract("city")
    with pytest.raises(FactConflict):
        memory.accept("city", over=1)
    assert memory.accept("city").version == 2


def test_a_proposal_whose_evidence_was_retired_since_is_not_accepted(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, trust=Trust.TOOL))
    memory.retire_source("chat")
    with pytest.raises(InvalidEvidence):
        memory.accept("city")
    assert memory.reject("city").status is FactStatus.REJECTED


def test_a_proposal_whose_evidence_was_erased_since_is_not_accepted(memory: Memory) -> None:
    page = memory.ingest("page", "Rome", origin=Origin(Trust.TOOL)).added
    memory.assert_fact("city", **said(memory, evidence=[*page, *heard(memory)]))
    memory.erase("page")
    assert versions(memory) == [(1, FactStatus.PROPOSAL)]
    with pytest.raises(InvalidEvidence):
        memory.accept("city")


def test_what_a_loss_lowered_is_accepted_again_on_what_remains(memory: Memory) -> None:
    evidence = page_and_turn(memory, Trust.TOOL)
    memory.assert_fact("city", **said(memory, evidence=evidence))
    memory.accept("city")
    memory.erase("page")
    assert memory.accept("city").evidence == ((evidence[1], Trust.TOOL),)


@pytest.mark.parametrize("method", ["accept", "reject"])
def test_of_several_that_wait_one_must_be_named(memory: Memory, method: str) -> None:
    for trust in (Trust.TOOL, Trust.AGENT):
        memory.assert_fact("city", **said(memory, trust=trust))
    with pytest.raises(AmbiguousFact):
        getattr(memory, method)("city")
    assert getattr(memory, method)("city", version=2).version == 2


def test_only_what_waits_is_accepted_or_rejected(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory))
    for decide in (memory.accept, memory.reject):
        with pytest.raises(FactNotFound):
            decide("city", version=1)


@pytest.mark.parametrize("trust", [Trust.TOOL, Trust.AGENT])
def test_rejecting_closes_a_proposal_or_a_belief(memory: Memory, trust: Trust) -> None:
    memory.assert_fact("city", **said(memory, trust=trust))
    view = memory.reject("city", actor="ann", reason="no")
    assert (view.status, view.decided_by, view.reason) == (FactStatus.REJECTED, "ann", "no")
    assert view.recorded_to == view.decided_at
    assert memory.facts(unaccepted=True) == []


# losing evidence


def test_a_version_stands_on_what_remains_of_its_evidence(memory: Memory) -> None:
    evidence = page_and_turn(memory)
    memory.assert_fact("city", **said(memory, evidence=evidence))
    report = memory.erase("page")
    assert (report.evidence_links, report.facts_erased, report.facts_kept) == (1, 0, 1)
    view = memory.fact("city")
    assert (view.status, view.evidence) == (FactStatus.ACCEPTED, ((evidence[1], Trust.USER),))


def test_losing_evidence_never_raises_a_version(memory: Memory) -> None:
    page = memory.ingest("page", "Oslo", origin=Origin(Trust.TOOL)).added
    memory.assert_fact("city", **said(memory, evidence=[*page, *heard(memory)]))
    memory.erase("page")
    assert versions(memory) == [(1, FactStatus.PROPOSAL)]


def test_what_a_person_accepted_waits_again_when_it_loses_a_citation(memory: Memory) -> None:
    page = memory.ingest("page", "I live in Oslo.", origin=Origin(Trust.TOOL)).added
    # What remains would be accepted by itself; it is not what the person saw.
    memory.assert_fact("city", **said(memory, evidence=[*page, *heard(memory)]))
    memory.accept("city", actor="ann")
    memory.erase("page")
    (view,) = memory.timeline("user-7")
    assert (view.status, view.decided_by) == (FactStatus.PROPOSAL, "")
    assert view.policy
    assert city(memory) is None


def test_a_version_without_evidence_is_erased_for_every_instant(
    memory: Memory, clock: Clock
) -> None:
    page = memory.ingest("page", "Rome", origin=Origin(Trust.USER)).added
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(1)))
    memory.supersede("city", **said(memory, "Rome", evidence=page))
    clock.now = day(12)
    assert memory.erase("page").facts_erased == 1
    assert (city(memory), city(memory, known_at=day(11))) == ("Oslo", "Oslo")
    assert versions(memory) == [(1, FactStatus.ACCEPTED)]


def test_a_closed_version_without_evidence_is_erased_too(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory))
    memory.retract("city")
    assert memory.erase("chat").facts_erased == 1
    assert memory.timeline("user-7") == []


def test_erasing_a_turn_erases_what_rests_on_it(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, evidence=heard(memory, turn_id="t")))
    memory.assert_fact("plan", **said(memory))
    assert memory.erase_turn("chat", "t").facts_erased == 1
    assert [view.key for view in memory.facts()] == ["plan"]


def test_erasing_a_text_erases_what_rests_on_texts_derived_from_it(memory: Memory) -> None:
    page = memory.ingest("page", "I live in Oslo.", origin=Origin(Trust.USER)).added
    memory.assert_fact("city", **said(memory, evidence=heard(memory, derived_from=page)))
    assert memory.erase("page").facts_erased == 1
    assert memory.timeline("user-7") == []


def test_facts_below_lose_what_is_erased_above_and_are_not_counted(memory: Memory) -> None:
    page = Memory(ACME).ingest("page", "I live in Oslo.", origin=Origin(Trust.USER)).added
    memory.assert_fact("city", **said(memory, evidence=page))
    Memory(THREAD).assert_fact("city", **said(memory, evidence=[*page, *heard(memory)]))
    report = Memory(ACME).erase("page")
    assert (report.chunks, report.facts_erased, report.facts_kept) == (1, 0, 0)
    assert memory.timeline("user-7") == []
    assert len(Memory(THREAD).fact("city").evidence) == 1


def test_a_fact_whose_evidence_is_merely_retired_stands_and_is_stale(
    memory: Memory, clock: Clock
) -> None:
    memory.assert_fact("city", **said(memory))
    clock.now = day(12)
    memory.retire_source("chat")
    assert (memory.fact("city").stale, memory.fact("city", known_at=day(11)).stale) == (True, False)
    assert city(memory) == "Oslo"


# reading


def test_facts_are_those_in_force_of_the_scope_and_the_levels_above(memory: Memory) -> None:
    for scope in (ACME, OWNER, THREAD, BESIDE):
        Memory(scope).assert_fact("city", **said(Memory(scope), scope.owner or "above"))
    found = [(view.scope, view.shadowed) for view in Memory(THREAD).facts()]
    assert found == [(THREAD, False), (OWNER, True), (ACME, True)]
    assert [view.scope for view in memory.facts()] == [OWNER, ACME]


def test_facts_stand_nearest_first_then_by_key(memory: Memory) -> None:
    for scope, key in ((ACME, "a"), (OWNER, "c"), (OWNER, "b")):
        Memory(scope).assert_fact(key, **said(Memory(scope)))
    assert [(view.scope, view.key) for view in memory.facts()] == [
        *((OWNER, "b"), (OWNER, "c"), (ACME, "a")),
    ]


def test_only_an_accepted_version_in_force_shadows(memory: Memory) -> None:
    Memory(ACME).assert_fact("city", **said(Memory(ACME), "Oslo"))
    memory.assert_fact("city", **said(memory, "Rome", Trust.TOOL))
    memory.assert_fact("city", **said(memory, "Rome", valid_to=day(20)))
    asked = [memory.facts(at=day(each))[-1].shadowed for each in (15, 25)]
    assert asked == [True, False]
    assert city(memory, at=day(25)) == "Oslo"


def test_facts_can_be_narrowed_to_a_subject_and_a_predicate(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory))
    memory.assert_fact("plan", **{**said(memory), "predicate": "pays for"})
    memory.assert_fact("cat", **{**said(memory), "subject": "user-8"})
    assert [view.key for view in memory.facts("user-7")] == ["city", "plan"]
    assert [view.key for view in memory.facts("user-7", predicate="pays for")] == ["plan"]
    assert [view.key for view in memory.facts(predicate="lives in")] == ["cat", "city"]


def test_what_is_not_accepted_is_shown_when_asked_for(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Rome", Trust.TOOL, valid_to=day(12)))
    memory.assert_fact("city", **said(memory, "Oslo"))
    assert [view.value for view in memory.facts()] == ["Oslo"]
    assert [view.value for view in memory.facts(unaccepted=True)] == ["Rome", "Oslo"]
    assert [view.value for view in memory.facts(unaccepted=True, at=day(12))] == ["Oslo"]


def test_a_fact_is_the_nearest_in_force(memory: Memory) -> None:
    Memory(ACME).assert_fact("city", **said(Memory(ACME), "Oslo"))
    assert city(Memory(THREAD)) == "Oslo"
    memory.assert_fact("city", **said(memory, "Rome"))
    assert [city(Memory(scope)) for scope in (ACME, THREAD, BESIDE)] == ["Oslo", "Rome", "Oslo"]
    with pytest.raises(FactNotFound):
        memory.fact("plan")


def test_a_fact_that_is_not_accepted_is_found_only_when_asked_for(memory: Memory) -> None:
    for value in ("Lima", "Rome"):
        memory.assert_fact("city", **said(memory, value, Trust.AGENT))
    with pytest.raises(FactNotFound):
        memory.fact("city")
    assert memory.fact("city", unaccepted=True).value == "Rome"
    Memory(ACME).assert_fact("city", **said(Memory(ACME), "Oslo"))
    assert memory.fact("city", unaccepted=True).value == "Oslo"


def test_a_timeline_has_every_version_oldest_first(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(4)))
    memory.supersede("city", **said(memory, "Rome", valid_from=day(6)))
    memory.assert_fact("city", **said(memory, "Lima", Trust.TOOL, valid_from=day(2)))
    memory.assert_fact("city", **said(memory, "Bern", Trust.TOOL, valid_from=day(5)))
    memory.reject("city", version=3)
    memory.retract("city", version=2)
    found = [(view.value, view.status) for view in memory.timeline("user-7")]
    assert found == [
        ("Lima", FactStatus.REJECTED),
        ("Oslo", FactStatus.ACCEPTED),
        ("Bern", FactStatus.PROPOSAL),
        ("Rome", FactStatus.RETRACTED),
    ]
    assert memory.timeline("user-8") == []


def test_a_timeline_is_of_the_scope_and_the_levels_above(memory: Memory) -> None:
    for place, scope in enumerate((ACME, THREAD, BESIDE, OWNER), start=1):
        Memory(scope).assert_fact("city", **said(Memory(scope), valid_from=day(place)))
    assert [view.scope for view in memory.timeline("user-7")] == [ACME, OWNER]


def test_a_timeline_says_what_is_shadowed_as_facts_do(memory: Memory) -> None:
    above = heard(Memory(ACME))
    Memory(ACME).assert_fact("city", **said(memory, evidence=above))
    # The clock stands still, so what is written last is recorded ahead of it.
    memory.assert_fact("plan", **said(memory, evidence=above))
    memory.assert_fact("city", **said(memory, evidence=above))
    for views in (memory.facts(), memory.timeline("user-7")):
        assert [view.shadowed for view in views if view.scope == ACME] == [True]


# erase a fact


def test_an_erased_version_is_gone_for_every_instant(memory: Memory, clock: Clock) -> None:
    memory.assert_fact("city", **said(memory, "Oslo", valid_from=day(1)))
    memory.supersede("city", **said(memory, "Rome", valid_from=day(5)))
    clock.now = day(12)
    memory.erase_fact("city", 2)
    assert cities(memory, 4, 6) == ["Oslo", "Oslo"]
    assert city(memory, known_at=day(11)) == "Oslo"


def test_erasing_a_fact_leaves_its_evidence_and_the_facts_of_other_scopes(memory: Memory) -> None:
    evidence = heard(Memory(ACME))
    for scope in (ACME, OWNER):
        Memory(scope).assert_fact("city", **said(memory, evidence=evidence))
    memory.erase_fact("city")
    assert [view.scope for view in memory.facts()] == [ACME]
    assert len(memory.get(evidence)) == 1


# all or nothing


def test_a_refused_write_leaves_the_callers_transaction_theirs_to_commit(memory: Memory) -> None:
    with transaction.atomic():
        memory.assert_fact("city", **said(memory, "Oslo"))
        again = said(memory, "Rome")
        with pytest.raises(FactConflict):
            memory.assert_fact("city", **again)
        memory.supersede("city", **again)
    assert city(memory) == "Rome"


# concurrency


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Do these in threads that start together; return what each gave or the class it was refused with."""
    barrier, results = threading.Barrier(len(works)), []

    def run(work: Callable[[], Any]) -> None:
        try:
            barrier.wait(30)
            results.append(work())
        except PrismGraphError as error:
            results.append(type(error))
        finally:
            connections["default"].close()

    threads = [threading.Thread(target=run, args=[work]) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


@pytest.mark.django_db(transaction=True)
def test_of_assertions_made_at_once_one_wins(memory: Memory) -> None:
    given = [said(memory, value) for value in ("Oslo", "Rome", "Lima", "Bern")]
    results = at_once(*(lambda each=each: memory.assert_fact("city", **each) for each in given))
    (won,) = (each for each in results if isinstance(each, FactView))
    assert [each for each in results if each is not won] == [FactConflict] * 3
    assert memory.timeline("user-7") == [won]


@pytest.mark.django_db(transaction=True)
def test_versions_that_supersede_at_once_come_one_after_another(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory))
    given = [said(memory, value) for value in ("Oslo", "Rome", "Lima", "Bern")]
    results = at_once(*(lambda each=each: memory.supersede("city", **each) for each in given))
    assert sorted(view.version for view in results) == [2, 3, 4, 5]
    assert len({view.recorded_from for view in memory.timeline("user-7")}) == 5
    last = max(results, key=lambda view: view.version)
    assert memory.fact("city") == last


@pytest.mark.django_db(transaction=True)
def test_of_those_that_expect_the_same_version_one_wins(memory: Memory) -> None:
    memory.assert_fact("city", **said(memory))
    given = [said(memory, value, valid_from=day(9)) for value in ("Rome", "Lima")]
    results = at_once(
        *(lambda each=each: memory.supersede("city", **each, expected=1) for each in given)
    )
    assert results.count(FactConflict) == 1
    assert [view.version for view in results if isinstance(view, FactView)] == [2]
