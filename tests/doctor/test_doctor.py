"""Each contradiction is planted past the constraints, found, and put right without raising anything."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from prism_graph import FactStatus, Memory, Origin, Scope, Trust, signals
from prism_graph.doctor import Place, examine, put_right
from prism_graph.models import Chunk, Receipt, Standing
from tests.doctor.faults import CLAIM, FAULTS, HERE, ONE, STRANGER, change, fill, remove
from tests.planting import ASIDE, DOCUMENT, MINE, SECRET, USER, plant
from tests.rawsql import TABLES, sql, stored

pytestmark = pytest.mark.django_db

EVERYWHERE = Place("default")
ACME = Scope("acme")
TOOL = Origin(Trust.TOOL, "tool")
LEVEL = {each.code: each.level for each in Trust}
RANK = {each.value: each.rank for each in FactStatus}
each_fault = pytest.mark.parametrize("name", FAULTS)


def ids(place: Place = EVERYWHERE) -> set[str]:
    return {finding.id for finding in examine(place)}


def elsewhere() -> dict[str, list[Any]]:
    """Return what other people have; a row that was moved to them leaves a receipt and another version."""
    return {
        table: sql(
            f"SELECT * FROM {table} WHERE tenant = 'globex' OR owner IN ('ben', '') AND agent <> '' "
            "ORDER BY 1"
        )
        for table in TABLES
        if table
        not in ("prism_graph_scopeclock", "prism_graph_receipt", "prism_graph_vectorpartition")
    }


def trust() -> dict[str, int]:
    rows = sql("SELECT id, trust FROM prism_graph_chunk")
    return {name: LEVEL.get(code, 99) for name, code in rows}


def statuses() -> dict[tuple[Any, ...], int]:
    """Return the best open status of each version: what a careless reader could take for its own."""
    found: dict[tuple[Any, ...], int] = {}
    rows = sql(
        "SELECT tenant, owner, agent, thread, fact_number, version, status FROM prism_graph_standing "
        "WHERE until IS NULL"
    )
    for *version, status in rows:
        found[tuple(version)] = max(found.get(tuple(version), -1), RANK.get(status, 99))
    return found


@pytest.mark.exhaustive
@each_fault
def test_a_fault_is_found_told_without_content_and_put_right_without_raising_anything(name) -> None:
    fill()
    there, fault = elsewhere(), FAULTS[name]
    fault.plant()
    before, trust_before, statuses_before = stored(), trust(), statuses()
    known = {str(key) for table in TABLES for (key,) in keys(table)}

    found = examine(EVERYWHERE)
    assert fault.id in {finding.id for finding in found}
    assert stored() == before, "looking wrote something"
    for finding in found:
        assert finding.count >= 1
        assert set(finding.examples) <= known
        assert not {SECRET, "doc-1", "tea", "importer", "acme", "ana"} & set(finding.what.split())

    done = put_right(EVERYWHERE)
    assert done.found == found
    if fault.fixable:
        assert done.left == []
    else:
        assert {finding.id for finding in done.left} == {fault.id}
        assert not [finding for finding in done.left if finding.fix]
    for chunk, level in trust().items():
        assert level <= trust_before[chunk]
    for version, rank in statuses().items():
        assert rank <= statuses_before.get(version, 0)
    assert elsewhere() == there


def keys(table: str) -> list[Any]:
    key = "number" if table == "prism_graph_chunktext" else "id"
    return sql(f"SELECT {key} FROM {table}")


class TestHealth:
    def test_nothing_is_found_where_nothing_is_wrong_and_nothing_is_written(self):
        fill()
        before = stored()
        assert examine(EVERYWHERE) == []
        assert put_right(EVERYWHERE).left == []
        assert stored() == before

    def test_every_way_to_write_leaves_a_healthy_database(self):
        memory = Memory(MINE)
        memory.ingest("empty", "", origin=DOCUMENT)
        told = memory.record("chat", "Tea.", origin=USER, turn_id="t").added
        tool = memory.record("chat", "Tea?", origin=TOOL, turn_id="u").added
        memory.ingest("sum", "Tea, tea.", origin=DOCUMENT, derived_from=told + tool)
        memory.assert_fact("a", **CLAIM, evidence=told)
        memory.assert_fact("b", **CLAIM, evidence=told + tool)
        memory.accept("b", actor="ana")
        memory.assert_fact("c", **CLAIM, evidence=tool)
        memory.reject("c")
        memory.supersede("a", **CLAIM, evidence=told, valid_from="2020-01-01T00:00:00Z")
        memory.retract("a", version=2)
        memory.retire_source("sum")
        assert examine(EVERYWHERE) == []
        memory.erase_turn("chat", "u")
        assert examine(EVERYWHERE) == []
        memory.erase_fact("a", 2)
        assert examine(EVERYWHERE) == []
        memory.erase("chat")
        assert examine(EVERYWHERE) == []
        Memory(ACME).erase_everything(include_owners=True)
        assert examine(EVERYWHERE) == []

    def test_the_number_of_statements_does_not_grow_with_what_there_is(self):
        plant(MINE)
        with CaptureQueriesContext(connection) as few:
            examine(EVERYWHERE)
        for scope in ASIDE:
            plant(scope)
        with CaptureQueriesContext(connection) as many:
            examine(EVERYWHERE)
        assert len(many) <= len(few) + 2

    def test_progress_sees_every_check(self):
        seen: list[tuple[int, int]] = []

        def watch(rows: Any, total: int) -> Any:
            listed = list(rows)
            seen.append((len(listed), total))
            return listed

        examine(Place("default", progress=watch))
        assert seen[0][0] == seen[0][1] > 40


class TestTenant:
    def test_only_its_rows_are_looked_at_and_put_right(self):
        fill()
        change("fact", "last_version = 0", "last_version > 0")()
        there = elsewhere()
        assert ids(Place("default", "globex")) == {"last-version"}
        put_right(Place("default", "acme"))
        assert ids(Place("default", "acme")) == set()
        assert ids(Place("default", "globex")) == {"last-version"}
        assert [row for row in elsewhere()["prism_graph_fact"] if "globex" in row] == [
            row for row in there["prism_graph_fact"] if "globex" in row
        ]

    def test_the_index_is_nobodys(self):
        fill()
        FAULTS["an index that lost its words"].plant()
        assert ids(Place("default", "acme")) == set()
        assert ids() == {"index"}


class TestFixes:
    def test_a_fact_that_loses_all_its_evidence_is_erased_with_a_receipt(self):
        plant(MINE)
        change("citation", "cited_number = 999999")()
        assert ids() == {"evidence-gone"}
        put_right(EVERYWHERE)
        assert Memory(MINE).timeline("Ana") == []
        receipt = Receipt.objects.at(MINE).get(operation="doctor")
        assert (receipt.actor, receipt.reason) == ("prism_graph_doctor", "evidence-gone")
        assert receipt.counts["facts_erased"] == 1

    def test_a_fact_that_a_person_accepted_waits_again_when_it_loses_a_citation(self):
        memory = Memory(MINE)
        told = memory.record("chat", "Tea.", origin=USER).added
        tool = memory.record("chat", "Tea?", origin=TOOL).added
        memory.assert_fact("drink", **CLAIM, evidence=told + tool)
        memory.accept("drink", actor="ana")
        [number] = Chunk.objects.at(MINE).filter(id__in=tool).values_list("number", flat=True)
        change("citation", "cited_number = 999999", f"cited_number = {number}")()
        put_right(EVERYWHERE)
        assert memory.facts() == []
        [fact] = memory.facts(unaccepted=True)
        assert (fact.status, [each.id for each in fact.evidence]) == (FactStatus.PROPOSAL, told)

    def test_what_was_derived_from_what_is_gone_is_erased_at_every_level(self):
        above = Memory(ACME).ingest("doc", "Tea is hot.", origin=DOCUMENT).added
        once = Memory(MINE).ingest("one", "Hot tea.", origin=DOCUMENT, derived_from=above).added
        Memory(MINE).ingest("two", "Hot.", origin=DOCUMENT, derived_from=once)
        Memory(MINE).assert_fact("tea", **CLAIM, evidence=once)
        [number] = Chunk.objects.at(ACME).values_list("number", flat=True)
        change("derivation", "cited_number = 999999", f"cited_number = {number}")()
        put_right(EVERYWHERE)
        assert [hit.chunk.source_key for hit in Memory(MINE).search("hot tea")] == ["doc"]
        assert Memory(MINE).timeline("Ana") == []

    def test_trust_is_lowered_through_the_whole_lineage_and_facts_with_it(self):
        memory = Memory(MINE)
        cited = Memory(ACME).ingest("0", "Tea 0.", origin=DOCUMENT).added
        for step in range(1, 5):
            cited = memory.ingest(str(step), f"Tea {step}.", origin=USER, derived_from=cited).added
        memory.assert_fact("drink", **CLAIM, evidence=cited)
        assert memory.fact("drink").status is FactStatus.ACCEPTED
        change("chunk", "trust = 6, origin_trust = 6", "owner = ''")()
        assert ids() == {"trust-above-lineage"}
        put_right(EVERYWHERE)
        assert {hit.chunk.trust for hit in memory.search("tea")} == {Trust.TOOL}
        [fact] = memory.facts(unaccepted=True)
        assert (fact.status, fact.reason) == (FactStatus.PROPOSAL, "its evidence is trusted less")

    def test_user_and_document_are_equal(self):
        memory = Memory(MINE)
        cited = memory.ingest("doc", "Tea.", origin=DOCUMENT).added
        memory.record("chat", "Tea, yes.", origin=USER, derived_from=cited)
        assert examine(EVERYWHERE) == []

    def test_of_two_standings_the_lower_stays(self):
        fill()
        open_now = Standing.objects.at(MINE).filter(until=None)
        low = set(open_now.exclude(status=FactStatus.ACCEPTED).values_list("pk", flat=True))
        FAULTS["two open standings"].plant()
        put_right(EVERYWHERE)
        assert low
        assert low <= set(open_now.values_list("pk", flat=True))

    def test_a_version_without_an_open_standing_is_retracted(self):
        fill()
        FAULTS["a version without a standing"].plant()
        put_right(EVERYWHERE)
        drunk = [each for each in Memory(MINE).timeline("Ana") if each.key == "drink"]
        assert [each.version for each in drunk] == [1, 2]
        assert drunk[0].status is FactStatus.RETRACTED
        FAULTS["a version without an open standing"].plant()
        put_right(EVERYWHERE)
        views = [view for view in Memory(MINE).timeline("Ana") if view.scope == MINE]
        assert {view.status for view in views} == {FactStatus.RETRACTED}
        assert {view.decided_by for view in views} == {"prism_graph_doctor"}

    def test_a_row_moved_to_somebody_else_is_removed_and_shown_to_neither(self):
        plant(MINE)
        ben = Memory(ASIDE[1])
        plant(ASIDE[1])
        before = ben.search(SECRET)
        change("chunk", "owner = 'ben'", f"{HERE} AND turn_digest = ''")()
        put_right(EVERYWHERE)
        assert ben.search(SECRET) == before
        assert [hit.chunk.source_key for hit in Memory(MINE).search(SECRET)] == ["chat"]
        assert sql(f"SELECT count(*) FROM prism_graph_chunktext WHERE {HERE}") == [(1,)]

    def test_the_next_version_takes_a_number_that_was_never_taken(self):
        fill()
        change("fact", "last_version = 0")()
        put_right(EVERYWHERE)
        told = Memory(MINE).record("talk", "Coffee.", origin=USER).added
        assert Memory(MINE).supersede("drink", **CLAIM, evidence=told).version == 3

    def test_an_acceptance_policy_that_fails_lowers_nothing(self, settings):
        fill()
        settings.PRISM_GRAPH = {"ACCEPTANCE_POLICY": "tests.doctor.test_doctor.Broken"}
        assert examine(EVERYWHERE) == []

    def test_what_another_policy_accepted_is_its_own(self, settings):
        fill()
        change("chunk", "trust = 6, origin_trust = 6")()
        settings.PRISM_GRAPH = {"ACCEPTANCE_POLICY": "tests.doctor.test_doctor.Other"}
        assert ids() == set()

    def test_receivers_are_told_of_what_went(self, django_capture_on_commit_callbacks):
        plant(MINE)
        remove("citation")()
        found: list[Any] = []

        def receive(**sent: Any) -> None:
            found.append(sent["scope"])

        signals.fact_erased.connect(receive)
        with django_capture_on_commit_callbacks(execute=True):
            put_right(EVERYWHERE)
        signals.fact_erased.disconnect(receive)
        assert found == [MINE]


class Broken:
    name = "default/1"

    def judge(self, cited: Any) -> FactStatus:
        raise RuntimeError


class Other:
    name = "other/1"

    def judge(self, cited: Any) -> FactStatus:
        return FactStatus.PROPOSAL


# Planted after others, these would name rows that are there already; and PostgreSQL looks at the foreign
# keys of a row again when it changes in the transaction that wrote it, as it does in a test only.
COLLIDING = (
    *("a chunk among", "a level above", "another scope", "beside it", "an agent without"),
    "trust that is none",
)


def test_many_faults_at_once_are_put_right_and_a_second_run_finds_nothing() -> None:
    fill()
    # The index last: without its words SQLite lets no text be changed.
    for name, fault in sorted(FAULTS.items(), key=lambda item: item[1].id == "index"):
        if fault.fixable and not any(part in name for part in COLLIDING):
            fault.plant()
            if fault.id == "index":
                break
    done = put_right(EVERYWHERE)
    assert len({finding.id for finding in done.found}) >= 8
    assert done.left == []
    before = stored()
    assert put_right(EVERYWHERE).found == []
    assert stored() == before


@pytest.mark.parametrize("other", ["an agent without an owner: chunk", "trust that is none"])
def test_an_index_that_cannot_be_compared_yet_is_put_right_as_well(other) -> None:
    fill()
    FAULTS[other].plant()
    FAULTS["an index that lost its words"].plant()
    assert "index" in ids()
    assert put_right(EVERYWHERE).left == []


def test_what_a_moved_link_says_was_derived_goes():
    memory = Memory(MINE)
    web = memory.record("web", "Tea is coffee.", origin=TOOL).added
    memory.ingest("sum", "Tea, summed up.", origin=DOCUMENT, derived_from=web)
    change("derivation", STRANGER)()
    change("chunk", "trust = origin_trust")()
    assert "scope-disagrees" in ids()
    assert put_right(EVERYWHERE).left == []
    assert [hit.chunk.source_key for hit in memory.search("tea")] == ["web"]


def test_a_clock_does_not_follow_an_instant_far_ahead():
    fill()
    change("chunk", "recorded_at = '9999-12-31 00:00:00'", ONE)()
    assert "clock-behind" in {finding.id for finding in put_right(EVERYWHERE).left}
    Memory(MINE).record("chat", "Still writing.", origin=USER)
