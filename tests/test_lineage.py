from __future__ import annotations

from itertools import product

import pytest

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.errors import InvalidEvidence, LimitExceeded

pytestmark = pytest.mark.django_db

ACME = Scope("acme")
USER = Origin(Trust.USER)
TOOL = Origin(Trust.TOOL)
# Highest first; user and document share a level.
ORDER = [
    *({Trust.USER, Trust.DOCUMENT}, {Trust.SYSTEM}, {Trust.AGENT}, {Trust.SUBAGENT}),
    *({Trust.CONSOLIDATOR}, {Trust.TOOL}),
]


def level(trust: Trust) -> int:
    return -next(place for place, classes in enumerate(ORDER) if trust in classes)


def said(memory: Memory, trust: Trust, *cited: str) -> str:
    return memory.record("chat", "text", origin=Origin(trust), derived_from=cited).added[0]


def trust_of(memory: Memory, chunk_id: str) -> Trust:
    return memory.get([chunk_id])[0].trust


def test_effective_trust_is_the_least_of_own_and_cited_for_all_pairs() -> None:
    memory = Memory(ACME)
    for own, cited in product(Trust, repeat=2):
        source = said(memory, cited)
        derived = memory.get([said(memory, own, source)])[0]
        assert derived.origin_trust is own
        assert level(derived.trust) == min(level(own), level(cited))
        if level(own) <= level(cited):
            assert derived.trust is own


def test_one_weak_citation_among_many_decides() -> None:
    memory = Memory(ACME)
    strong = [said(memory, Trust.USER) for _ in range(10)]
    weak = said(memory, Trust.SUBAGENT)
    assert trust_of(memory, said(memory, Trust.USER, *strong)) is Trust.USER
    assert trust_of(memory, said(memory, Trust.USER, *strong, weak)) is Trust.SUBAGENT


def test_trust_is_the_least_over_a_lineage_five_deep() -> None:
    memory = Memory(ACME)
    last = said(memory, Trust.TOOL)
    for own in (Trust.CONSOLIDATOR, Trust.AGENT, Trust.SYSTEM, Trust.DOCUMENT, Trust.USER):
        last = said(memory, own, last, said(memory, Trust.USER))
        assert trust_of(memory, last) is Trust.TOOL


def test_trust_is_never_raised_when_part_of_the_lineage_is_retired() -> None:
    memory = Memory(ACME)
    page = memory.ingest("page", "page", origin=TOOL).added
    derived = memory.ingest("summary", "summary", origin=USER, derived_from=page).added
    memory.retire_source("page")
    assert trust_of(memory, derived[0]) is Trust.TOOL
    again = memory.ingest("summary", "summary", origin=USER, derived_from=page)
    assert again.kept == derived
    # Cited while retired, it counts as before.
    other = memory.ingest("other", "other", origin=USER, derived_from=page).added
    assert trust_of(memory, other[0]) is Trust.TOOL


def test_what_was_derived_from_erased_text_is_gone_and_nothing_else_is_raised() -> None:
    memory = Memory(ACME)
    page = said(memory, Trust.TOOL)
    middle = said(memory, Trust.AGENT, page)
    last = said(memory, Trust.USER, middle, said(memory, Trust.USER))
    other = said(memory, Trust.USER, said(memory, Trust.SYSTEM))
    memory.erase_turn("chat", memory.get([page])[0].turn_id)
    assert memory.get([page, middle, last]) == []
    assert trust_of(memory, other) is Trust.SYSTEM


def test_saying_the_same_again_without_lineage_does_not_raise_what_was_derived() -> None:
    memory = Memory(ACME)
    page = memory.ingest("page", "page", origin=TOOL).added
    derived = memory.ingest("summary", "text", origin=USER, derived_from=page).added
    report = memory.ingest("summary", "text", origin=USER)
    assert report.retired == derived
    assert trust_of(memory, derived[0]) is Trust.TOOL
    assert trust_of(memory, report.added[0]) is Trust.USER


def test_a_lineage_reaches_up_and_never_down_or_sideways() -> None:
    scopes = list(reversed(Scope("acme", "u1", "a1", "t1").chain))
    beside = [Scope("acme", "u2"), Scope("acme", "u1", "a2"), Scope("acme", "u1", "a1", "t2")]
    ids = {scope: said(Memory(scope), Trust.AGENT) for scope in [*scopes, *beside, Scope("b")]}
    for writer, cited in product([*scopes, *beside], ids):
        memory = Memory(writer)
        if cited in writer.chain:
            assert trust_of(memory, said(memory, Trust.USER, ids[cited])) is Trust.AGENT
        else:
            with pytest.raises(InvalidEvidence):
                said(memory, Trust.USER, ids[cited])


def test_a_foreign_a_missing_and_a_nonsense_citation_are_one_error() -> None:
    memory = Memory(ACME)
    own = said(memory, Trust.USER)
    foreign = said(Memory(Scope("other")), Trust.USER)
    erased = memory.record("gone", "text", origin=USER).added[0]
    memory.erase("gone")
    messages = set()
    for bad in (foreign, erased, "a" * 26, "", "x" * 5000, "é", "\x00", "\ud800", "%", "' OR 1=1"):
        with pytest.raises(InvalidEvidence) as refused:
            said(memory, Trust.USER, own, bad)
        messages.add(str(refused.value))
    assert len(messages) == 1


def test_chunks_and_hits_cite_as_well_as_ids() -> None:
    memory = Memory(ACME)
    page = memory.ingest("page", "penguins swim", origin=TOOL)
    (hit,) = memory.search("penguins")
    for cited in (page.added, [hit], [hit.chunk], (hit, hit.chunk, page.added[0]), iter([hit])):
        report = memory.record("chat", "text", origin=USER, derived_from=cited)
        assert trust_of(memory, report.added[0]) is Trust.TOOL


def test_every_chunk_of_a_document_carries_the_lineage() -> None:
    memory = Memory(ACME)
    page = memory.ingest("page", "page", origin=TOOL).added
    text = "# A\n\none\n\n# B\n\ntwo\n"
    report = memory.ingest("summary", text, origin=USER, derived_from=page)
    assert len(report.added) > 1
    assert {view.trust for view in memory.get(report.added)} == {Trust.TOOL}
    assert memory.erase("page").chunks == 1 + len(report.added)


def test_fifty_citations_are_taken_and_one_more_is_refused() -> None:
    memory = Memory(ACME)
    ids = [said(memory, Trust.USER) for _ in range(51)]
    assert said(memory, Trust.USER, *ids[:50])
    with pytest.raises(LimitExceeded):
        said(memory, Trust.USER, *ids)
