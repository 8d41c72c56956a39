"""Cases: what a reviewer is shown of a claim."""

from __future__ import annotations

import pytest

from prism_graph import FactStatus, Memory, Trust
from prism_graph.doors import ReviewGrant
from prism_graph.errors import FactNotFound
from prism_graph.models import FactVersion
from prism_graph.review import VersionTarget, case_of, listed
from tests.admin.reviewing import (
    ACME,
    ANA,
    BO,
    CITY,
    GLOBEX,
    PRISM_GRAPH,
    TOOL,
    USER,
    claims,
    version,
)

pytestmark = pytest.mark.django_db


class Person:
    def __init__(self, name: str) -> None:
        self.name = name

    def get_username(self) -> str:
        return self.name


@pytest.fixture(autouse=True)
def grants(settings):
    settings.PRISM_GRAPH = PRISM_GRAPH


def case(row):
    return case_of(VersionTarget.of(row, "default"))


class SilentPolicy:
    name = "silent"

    def judge(self, cited):
        return FactStatus.PROPOSAL


class BrokenPolicy(SilentPolicy):
    name = "broken"

    def why(self, cited):
        raise RuntimeError("not today")


class TestACase:
    def test_has_the_claim_its_passages_and_what_it_contests(self):
        found = claims()
        seen = case(found.madrid)
        assert (seen.claim.value, [each.id for each in seen.evidence]) == ("Madrid", [found.found])
        assert (seen.instead_of.value, seen.instead_of.version) == ("Lisbon", 1)
        assert [each.id for each in seen.instead_of_evidence] == [found.said]
        assert [each.version for each in seen.versions] == [1, 2]

    def test_names_what_holds_by_now(self):
        found, memory = claims(), Memory(ANA)
        more = memory.record("later", "I moved to Porto.", origin=USER).added
        memory.supersede("city", **CITY, value="Porto", evidence=more)
        assert case(found.madrid).instead_of.value == "Porto"

    def test_of_what_is_in_force_contests_nothing(self):
        assert case(claims().lisbon).instead_of is None

    def test_has_the_passages_of_the_levels_above(self):
        page = Memory(ACME).record("site", "Everybody lives in Rome.", origin=TOOL).added
        Memory(ANA).assert_fact("city", **CITY, value="Rome", evidence=page)
        assert [each.scope for each in case(version(ANA, "city", 1)).evidence] == [ACME]

    def test_of_an_erased_version_is_not_found(self):
        target = VersionTarget.of(claims().madrid, "default")
        Memory(ANA).erase_fact("city", 2)
        with pytest.raises(FactNotFound):
            case_of(target)


class TestWhy:
    def test_the_policy_says_it(self):
        found = claims()
        assert case(found.lisbon).why == (
            "Every passage it rests on is the word of a user or a document."
        )
        assert case(found.madrid).why.endswith("some come from tool.")

    def test_a_person_decided(self):
        found = claims()
        Memory(ANA).accept("city", version=2, actor="carol")
        assert case(found.madrid).why == "The project decided."

    def test_evidence_was_lost(self):
        memory = Memory(ANA)
        said = memory.record("chat", "I live in Lisbon.", origin=USER).added
        found = memory.record("crm", "city is Lisbon", origin=TOOL).added
        memory.assert_fact("city", **CITY, value="Lisbon", evidence=[*said, *found])
        memory.accept("city", version=1)
        memory.erase("crm")
        assert "lost some of its evidence" in case(version(ANA, "city", 1)).why

    @pytest.mark.parametrize("policy", [SilentPolicy, BrokenPolicy])
    def test_a_policy_of_the_projects_own_need_not_say(self, settings, policy):
        settings.PRISM_GRAPH = {**PRISM_GRAPH, "ACCEPTANCE_POLICY": policy}
        said = Memory(ANA).record("chat", "I live in Lisbon.", origin=USER).added
        Memory(ANA).assert_fact("city", **CITY, value="Lisbon", evidence=said)
        assert case(version(ANA, "city", 1)).why == f"The policy {policy.name} judged it."

    def test_another_policy_than_todays_is_named(self, settings):
        found = claims()
        settings.PRISM_GRAPH = {**PRISM_GRAPH, "ACCEPTANCE_POLICY": SilentPolicy}
        assert case(found.madrid).why == "The policy default/1 judged it."


class TestAList:
    def rows(self, name: str = "carol"):
        grant = ReviewGrant.for_user(Person(name))
        rows = list(FactVersion.objects.for_review(grant).order_by("owner", "number"))
        return rows, listed(grant, "default", rows)

    def test_says_status_least_trust_and_writer(self):
        found, memory = claims(), Memory(ANA)
        more = memory.record("city-chat", "Madrid is nice.", origin=USER).added
        memory.assert_fact("trip", **CITY, value="Madrid", evidence=[found.found, *more])
        _, said = self.rows()
        short = said[version(ANA, "trip", 1).pk]
        assert (short.status, short.trust, short.writer, short.passages, short.stale) == (
            *(FactStatus.PROPOSAL, Trust.TOOL, "tool:crm", 2, False),
        )

    def test_keeps_scopes_with_the_same_numbers_apart(self):
        claims(ANA)
        memory = Memory(BO)
        said = memory.record("chat", "I live in Rome.", origin=USER).added
        memory.assert_fact("city", **CITY, value="Rome", evidence=said)
        rows, said = self.rows()
        assert [(row.owner, said[row.pk].trust) for row in rows] == [
            ("ana", Trust.USER),
            ("ana", Trust.TOOL),
            ("bo", Trust.USER),
        ]

    def test_says_when_evidence_is_retired(self):
        found = claims()
        Memory(ANA).retire_source("city-crm")
        assert self.rows()[1][found.madrid.pk].stale

    def test_takes_the_same_number_of_statements_however_many_rows(self, django_assert_num_queries):
        for number in range(12):
            claims(ACME.for_owner(f"owner-{number}"))
        claims(GLOBEX)
        grant = ReviewGrant.for_user(Person("carol"))
        rows = list(FactVersion.objects.for_review(grant))
        assert len(rows) == 24
        with django_assert_num_queries(3):
            listed(grant, "default", rows[:1])
        with django_assert_num_queries(3):
            assert len(listed(grant, "default", rows)) == 24

    def test_of_nothing_asks_nothing(self, django_assert_num_queries):
        with django_assert_num_queries(0):
            assert listed(ReviewGrant.for_user(Person("carol")), "default", []) == {}
