"""What the doctor's command prints, and how it ends; what it finds is in tests/doctor."""

from __future__ import annotations

import pytest

from tests.doctor.faults import FAULTS, change, fill
from tests.management.running import ask, refusal, run
from tests.planting import SECRET
from tests.rawsql import sql, stored

pytestmark = pytest.mark.django_db


def test_a_healthy_database_is_said_to_be_one() -> None:
    fill()
    assert run("doctor") == ("Nothing is wrong.\n", 0)
    assert ask("doctor", "--fix") == ({"fix": True, "found": [], "left": []}, 0)


def test_findings_are_told_with_ids_and_what_a_fix_would_do_and_end_with_1() -> None:
    fill()
    change("fact", "last_version = 0")()
    before = stored()
    said, code = run("doctor")
    names = sorted(
        name for (name,) in sql("SELECT id FROM prism_graph_fact WHERE last_version = 0")
    )
    assert code == 1
    assert said.startswith("last-version: 2 x fact: its last number is below a version's\n")
    assert sorted(said.splitlines()[1].removeprefix("   for example ").split(", ")) == names
    assert said.endswith("   --fix: counted again\n")
    assert SECRET not in said
    found, code = ask("doctor")
    assert (code, found["left"] == found["found"], found["fix"]) == (1, True, False)
    assert [(each["id"], each["count"]) for each in found["found"]] == [("last-version", 2)]
    assert stored() == before


def test_fix_puts_right_and_ends_with_0_and_then_nothing_is_wrong() -> None:
    fill()
    change("fact", "last_version = 0")()
    said, code = run("doctor", "--fix")
    assert code == 0
    assert "   fixed: counted again\n" in said
    assert said.endswith("All was put right.\n")
    assert run("doctor") == ("Nothing is wrong.\n", 0)


def test_what_no_fix_can_decide_ends_with_1() -> None:
    fill()
    FAULTS["an end before its start"].plant()
    said, code = run("doctor", "--fix")
    assert code == 1
    assert "no fix: look at these rows yourself" in said
    assert "prism_graph_factversion_interval" in said


def test_a_tenant_narrows_it() -> None:
    fill()
    change("fact", "last_version = 0")()
    assert run("doctor", "--tenant", "globex") == ("Nothing is wrong.\n", 0)
    assert run("doctor", "--tenant", "acme", "--fix")[1] == 0
    assert "--tenant is empty" in refusal("doctor", "--tenant", "")


@pytest.mark.both_databases
def test_the_database_named_is_looked_at() -> None:
    fill()
    change("fact", "last_version = 0")()
    assert run("doctor", "--database", "other") == ("Nothing is wrong.\n", 0)
    assert run("doctor")[1] == 1
