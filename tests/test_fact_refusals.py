"""What is refused of facts is refused in full, before anything is written, and tells nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from itertools import groupby, product
from typing import Any, Final

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction

from prism_graph import FactStatus, Memory, Origin, PrismGraphError, Scope, Trust
from prism_graph.errors import (
    AmbiguousFact,
    FactConflict,
    FactNotFound,
    InvalidEvidence,
    InvalidInput,
    InvalidText,
    LimitExceeded,
    SupersedeRefused,
)
from prism_graph.records import ErasureReport
from prism_graph.tables import current
from tests.rawsql import stored

ACME: Final = Scope("acme")
CANARY: Final = "canary7f3a"
KB: Final = 1024
CLOCK: Final = current().names["scopeclock"]
WRITES: Final = ("INSERT", "UPDATE", "DELETE", "REPLACE", "COPY")

pytestmark = pytest.mark.django_db

Call = Callable[[Memory], Any]


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def turn(memory: Memory, name: str, trust: Trust = Trust.USER) -> list[str]:
    return memory.record("chat", f"{CANARY} {name}", origin=Origin(trust, "w"), turn_id=name).added


def evidence(memory: Memory, name: str) -> list[str]:
    """Return the id of what was said in a turn."""
    hits = memory.search(f"{CANARY} {name}", limit=100)
    return [hit.chunk.id for hit in hits if hit.chunk.turn_id == name]


def claim(memory: Memory, name: str = "user", **more: Any) -> dict[str, Any]:
    stated = {"subject": CANARY, "predicate": CANARY, "value": CANARY}
    return stated | {"evidence": evidence(memory, name)} | more


@pytest.fixture
def memory() -> Memory:
    """Hold a key of every kind, all of whose text is the canary."""
    memory = Memory(ACME)
    for name in ("user", "user 2", "gone"):
        turn(memory, name)
    for name in ("tool", "tool 2", "tool 3", "gone tool"):
        turn(memory, name, Trust.TOOL)
    memory.ingest(f"{CANARY} retired", f"{CANARY} page", origin=Origin(Trust.TOOL, "w"))
    page = [hit.chunk.id for hit in memory.search("page", limit=100) if not hit.chunk.turn_id]
    who = {"actor": CANARY, "reason": CANARY}
    user, tool = claim(memory), claim(memory, "tool")
    memory.assert_fact("accepted", **user, valid_from=day(1))
    memory.assert_fact("ended", **user, valid_from=day(1), valid_to=day(2))
    for _ in range(2):
        memory.assert_fact("waiting", **tool)
    memory.assert_fact("contested", **user)
    memory.assert_fact("contested", **tool)
    memory.supersede("contested", **user, **who)
    memory.assert_fact("rejected", **tool)
    memory.reject("rejected", **who)
    memory.assert_fact("retracted", **user)
    memory.retract("retracted", **who)
    memory.assert_fact("weakened", **tool | {"evidence": [*evidence(memory, "gone tool"), *page]})
    memory.assert_fact("stale", **tool | {"evidence": page})
    memory.assert_fact("lone", **tool)
    memory.retire_source(f"{CANARY} retired")
    memory.erase_turn("chat", "gone tool")
    memory.erase_turn("chat", "gone")
    return memory


def chain_of(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException | None] = [error]
    while seen:
        if (each := seen.pop()) is not None:
            yield each
            seen += [each.__cause__, each.__context__]


def refused(expected: type[PrismGraphError], call: Callable[[], Any], says: str = "") -> None:
    """Make the call inside the caller's transaction, and look around before, meanwhile and after."""
    before, groups, written = stored(), Group.objects.count(), []

    def watch(execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:
        if statement.lstrip().upper().startswith(WRITES) and CLOCK not in statement:
            written.append(statement)
        return execute(statement, params, many, context)

    with transaction.atomic():
        Group.objects.create(name=f"caller's {groups}")
        with connection.execute_wrapper(watch), pytest.raises(PrismGraphError) as caught:
            call()
        Group.objects.create(name=f"caller's {groups + 1}")
    error = caught.value
    assert type(error) is expected, repr(error)
    assert written == []
    assert stored() == before
    assert Group.objects.count() == groups + 2
    for each in chain_of(error):
        assert isinstance(each, PrismGraphError | ValueError | TypeError | OverflowError)
        assert CANARY not in f"{each} {each!r} {each.args} {getattr(each, '__notes__', '')}"
    assert error.__cause__ is None
    message = str(error)
    assert message.endswith((".", ")."))
    assert len(message) > 20
    assert says in message


def test_the_look_around_sees_a_write(memory: Memory) -> None:
    """A refusal after the first write would be noticed, although it leaves nothing behind."""

    def late() -> None:
        memory.retract("accepted")
        raise FactNotFound

    with pytest.raises(AssertionError), transaction.atomic():
        refused(FactNotFound, late)
    with pytest.raises(AssertionError):
        refused(FactNotFound, lambda: Group(name=f"{memory}").save() or memory.retract("new"))


# every refusal of every method


REFUSALS: Final[dict[str, tuple[type[PrismGraphError], Call, str]]] = {
    "assert over what is in force": (
        FactConflict,
        lambda memory: memory.assert_fact("accepted", **claim(memory)),
        "supersede",
    ),
    "assert over a part of what is in force": (
        FactConflict,
        lambda memory: memory.assert_fact(
            "accepted", **claim(memory), valid_from="2025-01-01T00:00:00Z", valid_to=day(2)
        ),
        "supersede",
    ),
    "assert over the past": (
        FactConflict,
        lambda memory: memory.assert_fact("ended", **claim(memory), valid_from=day(1)),
        "supersede",
    ),
    "assert on nothing": (
        InvalidEvidence,
        lambda memory: memory.assert_fact("new", **claim(memory) | {"evidence": []}),
        "at least one",
    ),
    "assert on what is retired": (
        InvalidEvidence,
        lambda memory: memory.assert_fact(
            "new", **claim(memory) | {"evidence": cited(memory, "stale")}
        ),
        "not retired",
    ),
    "assert on what nobody said": (
        InvalidEvidence,
        lambda memory: memory.assert_fact("new", **claim(memory) | {"evidence": ["a" * 26]}),
        "visible",
    ),
    "assert what ends before it begins": (
        InvalidInput,
        lambda memory: memory.assert_fact(
            "new", **claim(memory), valid_from=day(2), valid_to=day(1)
        ),
        "valid_to",
    ),
    "assert what has ended by now": (
        InvalidInput,
        lambda memory: memory.assert_fact("new", **claim(memory), valid_to=day(1)),
        "valid_to",
    ),
    "supersede what is not there": (
        FactNotFound,
        lambda memory: memory.supersede("new", **claim(memory)),
        "",
    ),
    "supersede on weaker evidence": (
        SupersedeRefused,
        lambda memory: memory.supersede("accepted", **claim(memory, "tool")),
        "let a person accept",
    ),
    "supersede what waits beside what is accepted": (
        SupersedeRefused,
        lambda memory: memory.supersede("contested", **claim(memory, "tool"), expected=3),
        "let a person accept",
    ),
    "supersede another version than expected": (
        FactConflict,
        lambda memory: memory.supersede("contested", **claim(memory), expected=1),
        "read the fact again",
    ),
    "supersede a version that is not accepted": (
        FactConflict,
        lambda memory: memory.supersede("contested", **claim(memory), expected=2),
        "read the fact again",
    ),
    "supersede what has nothing accepted, expecting something": (
        FactConflict,
        lambda memory: memory.supersede("waiting", **claim(memory), expected=1),
        "read the fact again",
    ),
    "supersede on nothing": (
        InvalidEvidence,
        lambda memory: memory.supersede("accepted", **claim(memory) | {"evidence": []}),
        "at least one",
    ),
    "supersede on what is retired": (
        InvalidEvidence,
        lambda memory: memory.supersede(
            "accepted", **claim(memory) | {"evidence": cited(memory, "stale")}
        ),
        "not retired",
    ),
    "supersede by what ends before it begins": (
        InvalidInput,
        lambda memory: memory.supersede("accepted", **claim(memory), valid_to=day(1)),
        "valid_to",
    ),
    "retract what is not there": (FactNotFound, lambda memory: memory.retract("new"), ""),
    "retract a version that is not there": (
        FactNotFound,
        lambda memory: memory.retract("accepted", version=2),
        "",
    ),
    "retract what is retracted": (FactNotFound, lambda memory: memory.retract("retracted"), ""),
    "retract what was rejected": (
        FactNotFound,
        lambda memory: memory.retract("rejected", version=1),
        "",
    ),
    "retract one of several": (AmbiguousFact, lambda memory: memory.retract("waiting"), "version="),
    "accept what is not there": (FactNotFound, lambda memory: memory.accept("new"), ""),
    "accept what is accepted": (FactNotFound, lambda memory: memory.accept("accepted"), ""),
    "accept what was rejected": (FactNotFound, lambda memory: memory.accept("rejected"), ""),
    "accept a version that is not there": (
        FactNotFound,
        lambda memory: memory.accept("waiting", version=3),
        "",
    ),
    "accept one of several": (AmbiguousFact, lambda memory: memory.accept("waiting"), "version="),
    "accept what contested another version": (
        FactConflict,
        lambda memory: memory.accept("contested"),
        "over=",
    ),
    "accept over a version that is not in force": (
        FactConflict,
        lambda memory: memory.accept("contested", over=1),
        "over=",
    ),
    "accept over a version where there is none": (
        FactConflict,
        lambda memory: memory.accept("lone", over=1),
        "over=",
    ),
    "accept what lost evidence": (
        InvalidEvidence,
        lambda memory: memory.accept("weakened"),
        "state it again",
    ),
    "accept what rests on retired evidence": (
        InvalidEvidence,
        lambda memory: memory.accept("stale"),
        "state it again",
    ),
    "reject what is not there": (FactNotFound, lambda memory: memory.reject("new"), ""),
    "reject what is accepted": (FactNotFound, lambda memory: memory.reject("accepted"), ""),
    "reject an accepted version": (
        FactNotFound,
        lambda memory: memory.reject("contested", version=3),
        "",
    ),
    "reject one of several": (AmbiguousFact, lambda memory: memory.reject("waiting"), "version="),
    "erase a tenant without the word": (
        InvalidInput,
        lambda memory: memory.erase_everything(),
        "include_owners=True",
    ),
}


def cited(memory: Memory, key: str) -> list[str]:
    (view,) = [each for each in memory.timeline(CANARY) if each.key == key]
    return [each.id for each in view.evidence]


def of_each(cases: Iterable[str]) -> pytest.MarkDecorator:
    """Run a test once for each method, with the names of its cases: what is refused changes nothing."""
    names = sorted(cases, key=lambda name: name.split()[0])
    groups = {method: list(group) for method, group in groupby(names, lambda n: n.split()[0])}
    return pytest.mark.parametrize("names", groups.values(), ids=groups)


@of_each(REFUSALS)
def test_what_is_refused_is_refused_in_full(memory: Memory, names: list[str]) -> None:
    prepared = memory.timeline(CANARY)
    for name in names:
        expected, call, says = REFUSALS[name]
        refused(expected, lambda call=call: call(memory), says)
    assert memory.timeline(CANARY) == prepared
    assert memory.supersede("accepted", **claim(memory), expected=1).version == 2


def test_a_refused_write_does_not_even_hold_a_number(memory: Memory) -> None:
    for _ in range(3):
        refused(FactConflict, lambda: memory.assert_fact("accepted", **claim(memory)))
        refused(SupersedeRefused, lambda: memory.supersede("accepted", **claim(memory, "tool")))
    assert memory.supersede("accepted", **claim(memory)).version == 2


def test_many_refusals_in_one_transaction_leave_it_usable(memory: Memory) -> None:
    with transaction.atomic():
        memory.assert_fact("kept", **claim(memory))
        for expected, call, _ in REFUSALS.values():
            with pytest.raises(expected):
                call(memory)
        memory.supersede("kept", **claim(memory))
    assert memory.fact("kept").version == 2


def test_the_first_thing_wrong_in_the_agreed_order_is_what_is_said(memory: Memory) -> None:
    bad_end, no_evidence = {"valid_to": day(1)}, {"evidence": ["a" * 26]}
    weak = claim(memory, "tool")
    refused(InvalidInput, lambda: memory.supersede("new", **weak | no_evidence | bad_end))
    refused(InvalidEvidence, lambda: memory.supersede("new", **weak | no_evidence, expected=9))
    refused(FactNotFound, lambda: memory.supersede("new", **weak, expected=9))
    refused(FactConflict, lambda: memory.supersede("accepted", **weak, expected=9))
    refused(SupersedeRefused, lambda: memory.supersede("accepted", **weak, expected=1))
    refused(InvalidEvidence, lambda: memory.assert_fact("accepted", **claim(memory) | no_evidence))
    refused(InvalidEvidence, lambda: memory.accept("stale", over=9))
    refused(FactNotFound, lambda: memory.accept("new", over=9))


# arguments


UNSTORABLE: Final = [f"{CANARY}\x00", f"{CANARY}\ud800", f"\udfff{CANARY}", "\x00"]
NO_TEXT: Final = [
    *(None, 7, 2**70, 1.5, b"bytes", [CANARY], {"a": CANARY}, (CANARY,), True, object(), str),
    FactStatus.ACCEPTED,
]

Given = Callable[[Memory, Any], Any]
TEXTS: Final[dict[str, Given]] = {
    **{
        f"assert_fact {name}": lambda memory, bad, name=name: memory.assert_fact(
            "new", **claim(memory) | {name: bad}
        )
        for name in ("subject", "predicate", "value")
    },
    **{
        f"supersede {name}": lambda memory, bad, name=name: memory.supersede(
            "accepted", **claim(memory) | {name: bad}
        )
        for name in ("subject", "predicate", "value", "actor", "reason")
    },
    **{
        f"{method} {name}": lambda memory, bad, name=name, method=method, key=key: getattr(
            memory, method
        )(key, **{name: bad})
        for method, key in (
            *(("retract", "accepted"), ("accept", "lone"), ("reject", "lone")),
            *(("erase_fact", "accepted"), ("erase", "chat")),
        )
        for name in ("actor", "reason")
    },
    **{
        f"erase_everything {name}": lambda memory, bad, name=name: memory.erase_everything(
            include_owners=True, **{name: bad}
        )
        for name in ("actor", "reason")
    },
    **{
        f"erase_turn {name}": lambda memory, bad, name=name: memory.erase_turn(
            "chat", "user", **{name: bad}
        )
        for name in ("actor", "reason")
    },
    "assert_fact key": lambda memory, bad: memory.assert_fact(bad, **claim(memory)),
    "supersede key": lambda memory, bad: memory.supersede(bad, **claim(memory)),
    **{
        f"{method} key": lambda memory, bad, method=method: getattr(memory, method)(bad)
        for method in ("retract", "accept", "reject", "erase_fact", "fact")
    },
    "timeline subject": lambda memory, bad: memory.timeline(bad),
}
OPTIONAL: Final[dict[str, Given]] = {
    "facts subject": lambda memory, bad: memory.facts(bad),
    "facts predicate": lambda memory, bad: memory.facts(predicate=bad),
    "timeline predicate": lambda memory, bad: memory.timeline(CANARY, predicate=bad),
}
KEYS: Final = {
    **{
        name: call for name, call in TEXTS.items() if name.endswith(("key", "subject", "predicate"))
    },
    **OPTIONAL,
}


@of_each(TEXTS | OPTIONAL)
def test_what_is_no_storable_text_is_refused(memory: Memory, names: list[str]) -> None:
    for name, bad in product(names, UNSTORABLE):
        call = (TEXTS | OPTIONAL)[name]
        refused(InvalidText, lambda call=call, bad=bad: call(memory, bad), "remove it")
    for name, bad in product(names, NO_TEXT):
        if bad is not None or name in TEXTS:
            call = (TEXTS | OPTIONAL)[name]
            refused(InvalidInput, lambda call=call, bad=bad: call(memory, bad), "must be text")


def test_a_key_or_a_label_is_neither_empty_nor_long(memory: Memory) -> None:
    long = (CANARY.ljust(513, "x"), "\U0001f600" * 513, CANARY * 10**4)
    for call in KEYS.values():
        refused(InvalidInput, lambda call=call: call(memory, ""), "must not be empty")
        for bad in long:
            refused(LimitExceeded, lambda call=call, bad=bad: call(memory, bad), "shorten")


LONGEST: Final = {"value": 8 * KB, "reason": 8 * KB, "actor": 2 * KB}


def test_a_value_and_who_and_why_are_measured_in_bytes(memory: Memory) -> None:
    for name, call in TEXTS.items():
        if limit := LONGEST.get(name.split()[1]):
            for bad in (CANARY.ljust(limit + 1, "x"), "é" * (limit // 2) + "x", CANARY * 10**4):
                refused(LimitExceeded, lambda call=call, bad=bad: call(memory, bad), "shorten")
            with transaction.atomic():
                call(memory, "é" * (limit // 2))
                transaction.set_rollback(True)


def test_everything_at_its_limit_is_stored_as_given(memory: Memory) -> None:
    key, value = "\U0001f600" * 512, "\U0001f600" * (2 * KB)
    stated = {"subject": key, "predicate": key[::-1], "value": value}
    memory.assert_fact(key, **stated, evidence=evidence(memory, "user"))
    view = memory.supersede(
        key, **stated, evidence=evidence(memory, "user"), actor="é" * KB, reason="é" * 4 * KB
    )
    assert (view.key, view.subject, view.predicate, view.value) == (key, key, key, value)
    assert (view.decided_by, view.reason) == ("é" * KB, "é" * 4 * KB)
    assert memory.fact(key) == view
    assert memory.timeline(key)[-1] == view
    assert memory.erase_fact(key).facts_erased == 2


class NoOffset(tzinfo):
    """A time zone that does not know its offset."""

    def utcoffset(self, when: Any) -> None:
        return None


class NoTime(datetime):
    """A datetime that claims to have an offset."""

    def utcoffset(self) -> Any:
        return timedelta(0) if self.tzinfo else None


NO_INSTANT: Final = [
    *(7, 2**70, 1.5, True, b"2026-01-01T00:00:00Z", [], {}, object(), datetime, date(2026, 1, 1)),
    *(Decimal(1), timedelta(1), datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=NoOffset())),
    *("", " ", "now", "yesterday", CANARY, "2026-01-01", "2026-01-01T00:00:00", "1767225600"),
    *("2026-13-01T00:00:00Z", "2026-01-01T00:00:00Z\x00", "2026-01-01T25:00:00Z", "2026-W01"),
    *("2026-01-01T00:00:00+99:00", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "Z", "+00:00"),
    *("٢٠٢٦-01-01T00:00:00Z", "2026-01-01T00:00:00Z; DROP TABLE x", "9" * 10**5, "1-1-1"),
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
    datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
    NoTime(2026, 1, 1),
]
INSTANTS: Final[dict[str, Given]] = {
    **{
        f"{method} {name}": lambda memory, bad, name=name, method=method, key=key: getattr(
            memory, method
        )(key, **claim(memory), **{name: bad})
        for method, key in (("assert_fact", "new"), ("supersede", "accepted"))
        for name in ("valid_from", "valid_to")
    },
    **{
        f"facts {name}": lambda memory, bad, name=name: memory.facts(**{name: bad})
        for name in ("at", "known_at")
    },
    **{
        f"fact {name}": lambda memory, bad, name=name: memory.fact("accepted", **{name: bad})
        for name in ("at", "known_at")
    },
    "timeline known_at": lambda memory, bad: memory.timeline(CANARY, known_at=bad),
}


@of_each(INSTANTS)
def test_what_is_no_instant_is_refused_and_the_argument_named(
    memory: Memory, names: list[str]
) -> None:
    for name, bad in product(names, NO_INSTANT):
        call = INSTANTS[name]
        refused(InvalidInput, lambda call=call, bad=bad: call(memory, bad), name.split()[1])


@pytest.mark.parametrize("method", ["assert_fact", "supersede"])
def test_an_interval_has_an_instant_at_least(memory: Memory, method: str) -> None:
    key = {"assert_fact": "new", "supersede": "accepted"}[method]
    microsecond = timedelta(microseconds=1)
    earliest, latest = (each.replace(tzinfo=UTC) for each in (datetime.min, datetime.max))
    empty = [
        (day(1), day(1)),
        (day(1), day(1) - microsecond),
        (None, earliest),
        (latest, latest),
        (latest, earliest),
        (earliest, earliest),
        ("2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:30:00Z", "2026-01-01T01:00:00+01:00"),
    ]
    for start, end in empty:
        refused(
            InvalidInput,
            lambda start=start, end=end: getattr(memory, method)(
                key, **claim(memory), valid_from=start, valid_to=end
            ),
            "valid_to",
        )
    shortest = getattr(memory, method)(
        key, **claim(memory), valid_from=latest - microsecond, valid_to=latest
    )
    assert (shortest.valid_from, shortest.valid_to) == (latest - microsecond, latest)
    assert memory.fact(key, at=latest - microsecond) == shortest
    memory.supersede(key, **claim(memory), valid_from=earliest, valid_to=earliest + microsecond)
    assert memory.fact(key, at=earliest).valid_from == earliest


NO_VERSION: Final = [
    *(True, False, 0, -1, 2**31, 2**63, 2**70, -(2**70), 1.0, "1", b"1", [1], (1,), {1: 1}),
    *(Decimal(1), object(), int, float("nan"), float("inf"), "", Trust.USER, 1 + 0j),
]
VERSIONS: Final[dict[str, Given]] = {
    "supersede expected": lambda memory, bad: memory.supersede(
        "accepted", **claim(memory), expected=bad
    ),
    "accept over": lambda memory, bad: memory.accept("lone", over=bad),
    **{
        f"{method} version": lambda memory, bad, method=method: getattr(memory, method)(
            "accepted", version=bad
        )
        for method in ("retract", "accept", "reject", "erase_fact")
    },
}


def test_what_is_no_version_s_number_is_refused(memory: Memory) -> None:
    for (name, call), bad in product(VERSIONS.items(), NO_VERSION):
        refused(InvalidInput, lambda call=call, bad=bad: call(memory, bad), name.split()[1])


def test_the_highest_number_there_can_be_names_no_version(memory: Memory) -> None:
    for method in (memory.retract, memory.accept, memory.reject):
        refused(FactNotFound, lambda method=method: method("accepted", version=2**31 - 1))
    assert memory.erase_fact("accepted", 2**31 - 1) == ErasureReport(source_found=False)


def endless() -> Iterator[str]:
    while True:
        yield CANARY


BAD_EVIDENCE: Final[list[tuple[type[PrismGraphError], Any]]] = [
    *((InvalidInput, bad) for bad in (None, 7, True, "a" * 26, b"a" * 26, object(), list, 1.5)),
    *((InvalidInput, [bad]) for bad in (None, 7, True, b"a" * 26, object(), 1.5, ["a"], ("a",))),
    *((InvalidInput, bad) for bad in (range(3), {1: 2}, b"", bytearray(b"abc"))),
    *((InvalidEvidence, bad) for bad in ([], (), {}, set(), iter([]), {"id": "a", "trust": 0})),
    *((InvalidEvidence, [bad]) for bad in ("", CANARY, "%", "é", "\x00", "\ud800", "a" * 10**5)),
    (InvalidEvidence, [f"{CANARY}{number}" for number in range(50)]),
    (LimitExceeded, [f"{CANARY}{number}" for number in range(51)]),
    (LimitExceeded, [CANARY] * 51),
]


@pytest.mark.parametrize("method", ["assert_fact", "supersede"])
def test_what_is_no_evidence_is_refused(memory: Memory, method: str) -> None:
    key = {"assert_fact": "new", "supersede": "accepted"}[method]
    good = claim(memory)

    def state(bad: Any) -> Any:
        return getattr(memory, method)(key, **good | {"evidence": bad})

    for expected, bad in BAD_EVIDENCE:
        refused(expected, lambda bad=bad: state(bad), "")
    refused(LimitExceeded, lambda: state(endless()), "50")
    # One bad id among good ones is enough, wherever it stands.
    for place in range(3):
        mixed = [*evidence(memory, "user"), *evidence(memory, "user 2")]
        mixed.insert(place, "a" * 26)
        refused(InvalidEvidence, lambda mixed=mixed: state(mixed), "visible")
    for absent in (
        good["evidence"][0].upper(),
        f" {good['evidence'][0]}",
        good["evidence"][0][:-1],
    ):
        refused(InvalidEvidence, lambda absent=absent: state([absent]), "visible")


def test_unaccepted_is_read_as_true_or_false(memory: Memory) -> None:
    for given in (0, 2, "yes", None, "", [], object()):
        assert memory.facts(unaccepted=given) == memory.facts(unaccepted=bool(given))


def test_a_missing_argument_is_named_by_python_before_anything_is_read(memory: Memory) -> None:
    before = stored()
    for call in (memory.assert_fact, memory.supersede):
        for name in ("subject", "predicate", "value", "evidence"):
            stated = claim(memory)
            del stated[name]
            with pytest.raises(TypeError, match=name):
                call("new", **stated)
        with pytest.raises(TypeError):
            call("new", *claim(memory).values())
    assert stored() == before


def test_options_are_given_by_name(memory: Memory) -> None:
    for name in ("retract", "accept", "reject", "facts", "fact", "timeline"):
        with pytest.raises(TypeError):
            getattr(memory, name)("accepted", 1)
