"""After an erasure nothing of a fact is left but a receipt that says nothing (SPEC §6, L1 at commit)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import blake2b, sha256
from typing import Any, Final

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction

from prism_graph import FactStatus, Memory, Origin, Scope, Trust
from prism_graph.errors import DerivedTextRemains, FactNotFound, InvalidInput
from prism_graph.models import Citation, Fact, FactVersion, Receipt, Standing
from prism_graph.records import ErasureReport
from prism_graph.tables import current
from tests.adversarial.test_erasure import everything
from tests.planting import MODELS
from tests.rawsql import TABLES, sql, stored

ACME: Final = Scope("acme")
OWNER: Final = ACME.for_owner("u1")
AGENT: Final = OWNER.for_agent("a1")
THREAD: Final = AGENT.for_thread("t1")
LEVELS: Final = (ACME, OWNER, AGENT, THREAD)
BESIDE: Final = (
    Scope("globex", "u1", "a1", "t1"),
    Scope("ACME"),
    Scope("acme", "u2", "a1", "t1"),
    Scope("acme", "u1", "a2", "t1"),
    Scope("acme", "u1", "a1", "t2"),
)
USER: Final = Origin(Trust.USER, "w")
TOOL: Final = Origin(Trust.TOOL, "w")
RECEIPT: Final = current().names["receipt"]
CLOCK: Final = current().names["scopeclock"]
# What is said of a fact, and what is said of the text it rests on: one word for each place.
OF_FACTS: Final = [
    f"{place}canary"
    for place in "key subject predicate value actor reason closer closing below".split()
]
OF_TEXTS: Final = [
    f"{place}canary" for place in "source text title uri meta member writer speaker turn".split()
]
NOTHING: Final = ErasureReport(source_found=False)

pytestmark = pytest.mark.django_db


def claim(value: str = "v", subject: str = "s") -> dict[str, str]:
    return {"subject": subject, "predicate": "p", "value": value}


def turn(memory: Memory, name: str, origin: Origin = USER, **more: Any) -> list[str]:
    return memory.record("chat", f"said {name}", origin=origin, turn_id=name, **more).added


def rows_of(scope: Scope, *, below: bool = False) -> dict[str, list[str]]:
    """Return the rows of exactly a scope, or of it and the scopes below it, by table."""
    parts = {name: part for name, part in scope.columns.items() if part or not below}
    where = " AND ".join(f"{name} = %s" for name in parts)
    return {
        table: sorted(map(repr, sql(f'SELECT * FROM "{table}" WHERE {where}', *parts.values())))
        for table in TABLES
    }


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the statements that are run, by their first word."""
    count: Counter[str] = Counter()

    def wrapper(execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:
        count[statement.split()[0]] += 1
        return execute(statement, params, many, context)

    with connection.execute_wrapper(wrapper):
        yield count


# no content is left


def tell(memory: Memory) -> None:
    """Say every canary, in every place that has one."""
    writer = Origin(Trust.USER, "writercanary")
    page = memory.ingest(
        "sourcecanary",
        "# textcanary\n\ntextcanary, quoted",
        origin=writer,
        title="titlecanary",
        uri="uricanary",
        metadata={"membercanary": ["metacanary"]},
    ).added
    heard = memory.record(
        *("chat", "textcanary"), origin=writer, speaker="speakercanary", turn_id="turncanary"
    ).added
    for key, evidence in (("keycanary", page), ("keycanary 2", heard)):
        about = {
            "subject": f"subjectcanary of {key}",
            "predicate": "predicatecanary",
            "evidence": evidence,
        }
        who = {"actor": "actorcanary", "reason": "reasoncanary"}
        memory.assert_fact(key, **about, value="valuecanary 1")
        memory.supersede(key, **about, value="valuecanary 2", **who)
        memory.supersede(key, **about, value="valuecanary 3", **who)
        memory.retract(key, actor="closercanary", reason="closingcanary")
        web = memory.record("web", "fetched", origin=TOOL).added
        proposal = {**about, "evidence": [*evidence, *web]}
        for version in (4, 5, 6):
            memory.assert_fact(key, **proposal, value=f"valuecanary {version}")
        memory.accept(key, version=4, **who)
        memory.reject(key, version=5, actor="closercanary", reason="closingcanary")
        Memory(memory.scope.for_owner("below")).assert_fact(
            f"{key} below", **about | {"subject": "belowcanary"}, value="valuecanary"
        )


def log_everything() -> None:
    """Let the admin's log keep the name of every row there is, as its pages do."""
    user = User.objects.create(username="admin")
    for model in MODELS:
        kind = ContentType.objects.get_for_model(model)
        for row in model.objects.system("write every row's name to the admin's log"):
            LogEntry.objects.create(
                user=user,
                content_type=kind,
                object_id=str(row.pk),
                object_repr=f"{row} {row!r}",
                action_flag=CHANGE,
            )


def erase_texts(memory: Memory) -> None:
    memory.erase("sourcecanary", actor="orderer", reason="ordered")
    memory.erase("chat", actor="orderer", reason="ordered")
    memory.erase("web")


def erase_turns(memory: Memory) -> None:
    memory.erase("sourcecanary", actor="orderer", reason="ordered")
    memory.erase_turn("chat", "turncanary", actor="orderer", reason="ordered")
    memory.erase("web")


def erase_facts(memory: Memory) -> None:
    below = Memory(memory.scope.for_owner("below"))
    for key in ("keycanary", "keycanary 2"):
        memory.erase_fact(key, actor="orderer", reason="ordered")
        below.erase_fact(f"{key} below", actor="orderer", reason="ordered")


def erase_versions(memory: Memory) -> None:
    below = Memory(memory.scope.for_owner("below"))
    for key in ("keycanary", "keycanary 2"):
        for version in (3, 1, 6, 2, 5, 4):
            memory.erase_fact(key, version, actor="orderer", reason="ordered")
        below.erase_fact(f"{key} below", 1, actor="orderer", reason="ordered")


def erase_all(memory: Memory) -> None:
    memory.erase_everything(include_owners=True, actor="orderer", reason="ordered")


WAYS: Final[dict[str, tuple[Callable[[Memory], None], list[str]]]] = {
    "the texts": (erase_texts, OF_FACTS + OF_TEXTS),
    "a text and a turn": (erase_turns, OF_FACTS + OF_TEXTS),
    "the facts": (erase_facts, OF_FACTS),
    "every version": (erase_versions, OF_FACTS),
    "everything": (erase_all, OF_FACTS + OF_TEXTS),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", WAYS)
def test_no_table_log_vocabulary_or_statistic_holds_what_was_erased(way: str) -> None:
    erase, gone = WAYS[way]
    memory = Memory(ACME)
    tell(memory)
    log_everything()
    sql("ANALYZE")
    before = everything()
    assert all(canary in before for canary in OF_FACTS + OF_TEXTS)
    assert "canary" not in repr(sql("SELECT * FROM django_admin_log"))
    digests = {plain(word) for word in ("keycanary", "subjectcanary of keycanary", "sourcecanary")}
    assert all(each in before for each in digests)
    erase(memory)
    after = everything()
    assert [canary for canary in gone if canary in after] == []
    if gone != OF_FACTS:
        assert [each for each in digests if each in after] == []
    assert plain("keycanary") not in after
    assert plain("subjectcanary of keycanary") not in after
    assert sha256(b"keycanary").hexdigest() not in after
    assert "orderer" in after


def plain(text: str) -> str:
    """Return the digest that a guess at a text confirms."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def test_the_names_of_things_in_logs_and_errors_are_no_content() -> None:
    memory = Memory(ACME)
    tell(memory)
    memory.supersede("keycanary", **claim(), evidence=turn(memory, "new"))
    values: list[Any] = [
        *memory.timeline("subjectcanary of keycanary"),
        *memory.facts(unaccepted=True),
        *memory.search("textcanary", limit=100),
        memory.erase_fact("keycanary", 1, actor="actorcanary", reason="reasoncanary"),
    ]
    assert any(getattr(value, "superseded_by", ()) for value in values)
    for model in MODELS:
        values += model.objects.system("write every row's name")
    named = [f"{value} {value!r}" for value in values]
    # A chunk's writer is a label that the code binds, and stands in its view.
    assert [each for each in named if "canary" in each.replace("writer='writercanary'", "")] == []


def test_of_a_fact_that_is_kept_only_what_it_says_is_left() -> None:
    memory = Memory(ACME)
    page = memory.ingest("page", "quotecanary", origin=USER, title="titlecanary").added
    memory.assert_fact("k", **claim(), evidence=[*page, *turn(memory, "a")])
    report = memory.erase("page")
    assert (report.facts_kept, report.facts_erased) == (1, 0)
    assert "canary" not in everything()
    assert memory.fact("k").value == "v"


# counts, and receipts


def receipts(scope: Scope = ACME) -> list[Receipt]:
    return list(Receipt.objects.at(scope).order_by("erased_at"))


def test_counts_are_of_rows_of_this_scope_and_of_those_below_in_the_receipt_only() -> None:
    memory = Memory(ACME)
    page = memory.ingest("page", "page", origin=USER).added
    more = [turn(memory, each)[0] for each in "abc"]
    memory.assert_fact("alone", **claim(), evidence=page)
    memory.supersede("alone", **claim("w"), evidence=page)
    memory.assert_fact("both", **claim(), evidence=[*page, *more[:1]])
    memory.assert_fact("none of it", **claim(), evidence=more[1:])
    for scope in LEVELS[1:]:
        below = Memory(scope)
        note = below.ingest("note", "note", origin=USER, derived_from=page).added
        own = turn(below, "own")
        below.assert_fact("alone", **claim(), evidence=page)
        below.assert_fact("two", **claim(), evidence=[*page, *note])
        below.assert_fact("both", **claim(), evidence=[*page, *note, *own])
    report = memory.erase("page", actor="ana", reason="asked for")
    assert report == ErasureReport(
        source_found=True, chunks=1, evidence_links=3, facts_erased=2, facts_kept=1
    )
    (receipt,) = receipts()
    assert receipt.counts == report.counts
    assert receipt.counts_below == {
        "chunks": 3,
        "vectors": 0,
        "evidence_links": 3 * 5,
        "facts_erased": 3 * 2,
        "facts_kept": 3,
    }
    assert (receipt.operation, receipt.actor, receipt.reason) == ("erase", "ana", "asked for")
    for scope in LEVELS[1:]:
        assert receipts(scope) == []
        own = {view.key: view for view in Memory(scope).facts() if view.scope == scope}
        assert own.keys() == {"both"}
        assert len(own["both"].evidence) == 1


@pytest.mark.parametrize("scope", LEVELS, ids=str)
def test_a_receipt_names_what_was_erased_by_a_keyed_hash_only(scope: Scope, settings: Any) -> None:
    targets = []
    for secret in ("one", "two"):
        settings.SECRET_KEY = secret
        for where in (scope, BESIDE[2]):
            memory = Memory(where)
            for key in ("yes", "no"):
                page = memory.ingest(key, "text", origin=USER).added
                memory.assert_fact(key, **claim(), evidence=page)
                memory.erase_fact(key, 1)
                memory.assert_fact(key, **claim(), evidence=page)
                memory.erase_fact(key)
                memory.erase(key)
            targets += [row.target for row in receipts(where)][-6:]
    # Operation, key, version, scope and secret each make another hash.
    assert len(set(targets)) == len(targets) == 24
    assert all(len(target) == 64 for target in targets)
    guesses = {hashed(word) for word in ("yes", "no", "erase", "eraseyes") for hashed in HASHES}
    assert not guesses & set(targets)


HASHES: Final[list[Callable[[str], str]]] = [
    lambda word: sha256(word.encode()).hexdigest(),
    lambda word: blake2b(word.encode(), digest_size=32).hexdigest(),
]


def test_the_same_erasure_again_has_the_same_target() -> None:
    memory = Memory(ACME)
    for _ in range(2):
        memory.ingest("page", "text", origin=USER)
        memory.erase("page")
    first, second = receipts()
    assert first.target == second.target
    assert first.erased_at < second.erased_at


def test_names_cannot_be_cut_so_that_two_erasures_have_one_target() -> None:
    memory = Memory(ACME)
    for conversation, name in (("a", "b:1"), ("a:1", "b"), ("a1:b", "b"), ("a", "1:b"), ("ab", "")):
        memory.record(conversation, "text", origin=USER, turn_id=name or "x")
        memory.erase_turn(conversation, name or "x")
    for key in ("k", "k1", "1:k"):
        page = memory.ingest(key, "text", origin=USER).added
        for version in (1, None):
            memory.assert_fact(key, **claim(), evidence=page)
            memory.erase_fact(key, version)
    targets = [row.target for row in receipts()]
    assert len(set(targets)) == len(targets) == 11


def test_an_erasure_of_facts_is_counted() -> None:
    memory = Memory(ACME)
    evidence = [*turn(memory, "a"), *turn(memory, "b")]
    memory.assert_fact("k", **claim(), evidence=evidence)
    for _ in range(3):
        memory.supersede("k", **claim(), evidence=evidence[:1])
    one = memory.erase_fact("k", 1)
    assert one == ErasureReport(source_found=True, evidence_links=2, facts_erased=1)
    rest = memory.erase_fact("k")
    assert rest == ErasureReport(source_found=True, evidence_links=3, facts_erased=3)
    assert [row.counts for row in receipts()] == [one.counts, rest.counts]
    assert [row.counts_below for row in receipts()] == [ErasureReport(True).counts] * 2


# what is not there


def full(scope: Scope) -> Memory:
    memory = Memory(scope)
    page = memory.ingest("page", "page", origin=USER).added
    evidence = [*page, *turn(memory, "a")]
    memory.assert_fact("k", **claim(), evidence=evidence)
    memory.assert_fact("k", **claim(), evidence=turn(memory, "t", TOOL))
    return memory


ERASURES: Final[dict[str, Callable[[Memory], ErasureReport]]] = {
    "erase": lambda memory: memory.erase("page"),
    "erase the conversation": lambda memory: memory.erase("chat"),
    "erase_fact": lambda memory: memory.erase_fact("k"),
    "erase_fact by version": lambda memory: memory.erase_fact("k", 2),
    "erase_everything": lambda memory: memory.erase_everything(include_owners=True),
}


@pytest.mark.parametrize("name", ERASURES)
@pytest.mark.parametrize("scope", [ACME, THREAD], ids=str)
def test_erasing_twice_gives_zeros_and_writes_nothing(name: str, scope: Scope) -> None:
    memory = full(scope)
    assert ERASURES[name](memory).source_found
    before = stored()
    with counted() as statements:
        assert ERASURES[name](memory) == NOTHING
    assert stored() == before
    assert not statements.keys() & {"INSERT", "UPDATE", "DELETE"}


def test_erasing_a_turn_twice_gives_zeros_and_writes_nothing() -> None:
    memory = full(ACME)
    assert memory.erase_turn("chat", "a").chunks == 1
    before = stored()
    assert memory.erase_turn("chat", "a") == ErasureReport(source_found=True)
    assert stored() == before


@pytest.mark.parametrize("name", ERASURES)
@pytest.mark.parametrize("place", [*LEVELS[:3], *BESIDE], ids=str)
def test_what_stands_elsewhere_is_not_there(name: str, place: Scope) -> None:
    full(place)
    before = stored()
    assert ERASURES[name](Memory(THREAD)) == NOTHING
    assert stored() == before


def test_a_version_that_is_not_there_is_not_erased() -> None:
    memory = full(ACME)
    before = stored()
    for version in (3, 2**31 - 1):
        assert memory.erase_fact("k", version) == NOTHING
    assert memory.erase_fact("K") == memory.erase_fact("k ") == memory.erase_fact("%") == NOTHING
    assert stored() == before


@pytest.mark.parametrize("name", ERASURES)
def test_the_rows_of_other_scopes_stay_byte_for_byte(name: str) -> None:
    others = [*BESIDE, ACME, OWNER, THREAD]
    for scope in (*others, AGENT):
        full(scope)
    below = [scope for scope in others if AGENT in scope.chain]
    kept = [scope for scope in others if name != "erase_everything" or scope not in below]
    assert len(below) == 2
    before = {scope: rows_of(scope) for scope in kept}
    assert ERASURES[name](Memory(AGENT)).source_found
    assert {scope: rows_of(scope) for scope in kept} == before


# everything


@pytest.mark.parametrize("scope", LEVELS, ids=str)
def test_everything_is_this_scope_and_all_below_and_nothing_else(scope: Scope) -> None:
    places = [*LEVELS, *BESIDE]
    for place in places:
        full(place)
    inside = [each for each in places if scope in each.chain]
    before = {place: rows_of(place) for place in places if place not in inside}
    report = Memory(scope).erase_everything(include_owners=True, actor="ana")
    assert report == ErasureReport(
        source_found=True, chunks=3 * len(inside), evidence_links=3, facts_erased=2
    )
    assert {place: rows_of(place) for place in before} == before
    left = rows_of(scope, below=True)
    # The clock stays, so that nothing recorded later is dated before the receipt.
    assert {table for table, rows in left.items() if rows} == {RECEIPT, CLOCK}
    assert len(left[CLOCK]) == 1
    (receipt,) = receipts(scope)
    below = len(inside) - 1
    assert receipt.counts_below | {"vectors": 0} == {
        "chunks": 3 * below,
        "vectors": 0,
        "evidence_links": 3 * below,
        "facts_erased": 2 * below,
        "facts_kept": 0,
    }
    assert receipt.counts["chunks"] == 3


@pytest.mark.parametrize("given", [False, None, 1, "yes", object()], ids=repr)
def test_a_whole_tenant_is_erased_only_on_the_exact_word(given: Any) -> None:
    memory = full(ACME)
    full(OWNER)
    before = stored()
    with pytest.raises(InvalidInput, match="include_owners=True"):
        memory.erase_everything(include_owners=given)
    assert stored() == before
    assert Memory(OWNER).erase_everything(include_owners=given).source_found
    assert rows_of(ACME) == {table: before_at(before, rows_of(ACME), table) for table in TABLES}


def before_at(before: dict[str, list[Any]], now: dict[str, list[str]], table: str) -> list[str]:
    return [row for row in before[table] if row in now[table]] if now[table] else []


def test_receipts_outlive_an_erasure_of_everything() -> None:
    memory = full(ACME)
    memory.erase("page", actor="ana")
    first = rows_of(ACME)[RECEIPT]
    memory.erase_everything(include_owners=True)
    memory.erase_everything(include_owners=True)
    assert set(first) < set(rows_of(ACME)[RECEIPT])
    assert len(rows_of(ACME)[RECEIPT]) == 2


def test_memory_begins_anew_after_an_erasure_of_everything() -> None:
    memory = full(ACME)
    memory.erase_everything(include_owners=True)
    again = full(ACME)
    assert [view.version for view in again.timeline("s")] == [1, 2]
    assert len(again.facts()) == 1


# what losing evidence leaves


def test_the_loss_of_each_citation_in_turn_erases_the_fact_with_the_last() -> None:
    memory = Memory(ACME)
    names = [f"t{number}" for number in range(12)]
    evidence = [turn(memory, name)[0] for name in names]
    memory.assert_fact("k", **claim(), evidence=evidence)
    for left, name in enumerate(reversed(names[1:]), start=1):
        report = memory.erase_turn("chat", name)
        assert (report.facts_kept, report.facts_erased, report.evidence_links) == (1, 0, 1)
        view = memory.fact("k")
        assert [each.id for each in view.evidence] == evidence[: 12 - left]
        assert view.status is FactStatus.ACCEPTED
    assert memory.erase_turn("chat", names[0]).facts_erased == 1
    assert memory.timeline("s") == []
    assert not Fact.objects.at(ACME).exists()


def test_a_version_that_goes_leaves_the_others_of_its_fact_and_their_numbers() -> None:
    memory = Memory(ACME)
    turns = {name: turn(memory, name) for name in "abc"}
    memory.assert_fact("k", **claim("a"), evidence=turns["a"])
    memory.supersede("k", **claim("b"), evidence=turns["b"])
    memory.supersede("k", **claim("c"), evidence=turns["c"])
    memory.erase_turn("chat", "b")
    assert [(view.version, view.value) for view in memory.timeline("s")] == [(1, "a"), (3, "c")]
    first, last = memory.timeline("s")
    assert first.valid_to == last.valid_from
    memory.erase_turn("chat", "c")
    assert memory.fact("k").value == "a"
    assert memory.supersede("k", **claim("d"), evidence=turns["a"]).version == 4


def test_nothing_says_when_or_that_a_version_was_there() -> None:
    """Asked as known at every earlier instant, memory does not tell what it no longer holds."""
    memory = Memory(ACME)
    evidence = turn(memory, "a")
    known = [memory.assert_fact("k", **claim(), evidence=evidence).recorded_from]
    known.append(memory.supersede("k", **claim(), evidence=evidence).recorded_from)
    known.append(memory.retract("k").decided_at)
    memory.erase_turn("chat", "a")
    for at in known:
        assert memory.timeline("s", known_at=at) == []
        assert memory.facts(known_at=at, unaccepted=True) == []
        with pytest.raises(FactNotFound):
            memory.fact("k", known_at=at, unaccepted=True)


# deleting past Memory


@pytest.mark.parametrize("kind", ["queryset", "instance"])
def test_deleting_the_last_version_past_memory_leaves_no_key_behind(kind: str) -> None:
    memory = Memory(ACME)
    memory.assert_fact("keycanary", **claim(), evidence=turn(memory, "a"))
    rows = FactVersion.objects.at(ACME)
    try:
        if kind == "queryset":
            rows.delete()
        else:
            rows.get().delete()
    except DerivedTextRemains:
        assert memory.fact("keycanary").value == "v"
    else:
        assert "keycanary" not in everything()


def test_deleting_a_fact_past_memory_takes_all_of_it() -> None:
    memory = Memory(ACME)
    memory.assert_fact("keycanary", **claim("valuecanary"), evidence=turn(memory, "a"))
    try:
        Fact.objects.at(ACME).delete()
    except DerivedTextRemains:
        assert memory.fact("keycanary")
    else:
        assert "canary" not in everything()
        assert not Standing.objects.at(ACME).exists()


def test_evidence_that_raw_sql_deleted_leaves_a_fact_that_can_be_erased() -> None:
    """What a person did at a database shell, Memory neither tells nor fails at."""
    memory = Memory(ACME)
    memory.assert_fact("k", **claim(), evidence=turn(memory, "a", TOOL))
    sql("DELETE FROM $citation")
    assert memory.facts(unaccepted=True) == []
    for decide in (memory.accept, memory.reject, memory.retract):
        with pytest.raises(FactNotFound), transaction.atomic():
            decide("k")
    assert memory.erase_fact("k").facts_erased == 1
    assert not Fact.objects.at(ACME).exists()


def test_a_version_that_raw_sql_left_without_a_standing_stops_no_erasure() -> None:
    memory = Memory(ACME)
    page = memory.ingest("page", "textcanary", origin=USER).added
    memory.assert_fact("k", **claim(), evidence=[*page, *turn(memory, "a")])
    sql("DELETE FROM $standing")
    assert memory.facts(unaccepted=True) == memory.timeline("s") == []
    report = memory.erase("page")
    assert (report.chunks, report.evidence_links) == (1, 1)
    assert "canary" not in everything()
    assert memory.facts(unaccepted=True) == memory.timeline("s") == []


def test_a_refused_write_alone_leaves_nothing_to_erase() -> None:
    memory = Memory(ACME)
    with pytest.raises(FactNotFound):
        memory.retract("k")
    assert memory.erase_everything(include_owners=True) == NOTHING
    assert receipts() == []


def test_what_is_written_after_an_erasure_is_recorded_after_its_receipt(monkeypatch: Any) -> None:
    """Else the proof of an erasure would seem to have left rows that it should have taken."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    monkeypatch.setattr("prism_graph.clock._source", lambda: now)
    for name, scope in (("erase", ACME), ("erase_everything", OWNER)):
        memory = full(scope)
        ERASURES[name](memory)
        erased_at = receipts(scope)[-1].erased_at
        view = memory.assert_fact("new", **claim(), evidence=turn(memory, "after"))
        assert view.recorded_from > erased_at


# all or nothing, and at what cost


@pytest.mark.parametrize("name", ERASURES)
def test_an_erasure_that_is_rolled_back_leaves_facts_and_no_receipt(name: str) -> None:
    memory = full(ACME)
    before = stored()
    with transaction.atomic():
        ERASURES[name](memory)
        transaction.set_rollback(True)
    assert stored() == before


@pytest.mark.parametrize("name", ["erase", "erase_everything"])
def test_two_thousand_chunks_are_erased_in_as_many_statements_as_twenty(name: str) -> None:
    def lines(text: str) -> list[str]:
        return text.splitlines(keepends=True)

    def statements(size: int) -> Counter[str]:
        memory = Memory(Scope(f"tenant-{size}"))
        text = "".join(f"line {number}\n" for number in range(size))
        chunks = memory.ingest("page", text, origin=USER, chunker=lines).added
        kept = turn(memory, "a")
        for number in range(10):
            memory.assert_fact(f"k{number}", **claim(), evidence=chunks[number : number + 10])
            memory.assert_fact(f"l{number}", **claim(), evidence=[chunks[number], *kept])
        with counted() as count:
            assert ERASURES[name](memory).chunks == size + (name == "erase_everything")
        return count

    assert statements(2000) == statements(20)


def test_two_thousand_facts_lose_their_evidence_in_few_statements() -> None:
    def statements(size: int) -> int:
        memory = Memory(Scope(f"tenant-{size}"))
        page, kept = memory.ingest("page", "page", origin=USER).added, turn(memory, "a", TOOL)
        memory.assert_fact("k", **claim(), evidence=[*page, *kept])
        memory.accept("k")
        copy_fact(memory.scope, size - 1)
        with counted() as count:
            report = memory.erase("page")
        assert (report.facts_kept, report.evidence_links) == (size, size)
        return count.total()

    # Rows are named one by one in batches of some hundreds.
    assert statements(2000) <= statements(20) + 40


def copy_fact(scope: Scope, times: int) -> None:
    """Store the scope's one fact that many times more, without asking Memory for each."""
    count = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < %s) "
    for model in (Fact, FactVersion, Standing, Citation):
        table, columns = model._meta.db_table, [each.column for each in model._meta.concrete_fields]
        changed = {"id": "substr(id, 1, 20) || n", "fact_number": "fact_number + n"}
        if model is Fact:
            changed |= {"number": "number + n", "key": "key || n", "key_digest": "'digest' || n"}
        values = ", ".join(changed.get(column, column) for column in columns)
        insert = f"INSERT INTO {table} ({', '.join(columns)}) "
        rows = f"{count} SELECT {values} FROM {table}, n WHERE tenant = %s"
        sql(insert + rows, times, scope.tenant)
