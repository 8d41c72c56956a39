from __future__ import annotations

import copy
import dataclasses
import pickle
import string
from enum import StrEnum
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.utils.functional import SimpleLazyObject
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy
from hypothesis import given
from hypothesis import strategies as st

from prism_graph import Memory, Scope
from prism_graph.errors import InvalidScope, PrismGraphError
from prism_graph.scope import COLUMNS, MAX_PART_BYTES, MAX_PART_CHARACTERS, TOKEN_LENGTH, ModelOwner

LEVELS = COLUMNS[1:]
LOOKALIKES = (
    *("acme", "ACME", "Acme", "acme-corp", "acme_1", "acme%", "acme.", "acme/", "a_me", "a%", "%"),
    *(
        "_",
        "ac me",
        "acmé",
        "acme\u0301",
        "аcme",
        "acme'",
        'acme"',
        "acme;--",
        "acme\\",
        "*",
        "acme*",
    ),
    *("ａｃｍｅ", "𝖆𝖈𝖒𝖊", "acme🙂", "NULL", "None", "0", "acm", "ß", "ss", "İ", "i"),
)


class Lying(str):
    """Text that says of itself what the database is not told."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0


class Team(StrEnum):
    ACME = "acme"


def is_part(text: str) -> bool:
    """The rule of a part, written again without the package's own table."""
    invisible = (
        {0xAD, 0x34F, 0x61C, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0, 0x115F, 0x1160}
        | {*range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x202A, 0x202F)}
        | {*range(0x2060, 0x2070), *range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9)}
        | {*range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)}
        | {*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000)}
    )
    return (
        0 < len(text) <= 191
        and not any(ord(character) in invisible for character in text)
        and text == text.strip()
        and len(text.encode()) <= 255
    )


any_text = st.text(st.characters(), max_size=200) | st.text(
    st.sampled_from("aA%_/.\u200b\u00a0\ud800\x00\n é🙂"), max_size=12
)
parts = st.sampled_from(LOOKALIKES)
scopes = st.integers(1, 4).flatmap(
    lambda depth: st.lists(parts, min_size=depth, max_size=depth).map(lambda names: Scope(*names))
)


class TestParts:
    @pytest.mark.parametrize("level", COLUMNS)
    @pytest.mark.parametrize(
        "part",
        [
            *(
                None,
                7,
                0,
                True,
                False,
                1.5,
                b"acme",
                ["acme"],
                ("acme",),
                {"a": 1},
                object(),
                Scope,
            ),
            *(
                " ",
                "\t",
                "\n",
                " acme",
                "acme ",
                "acme\u00a0",
                "\u3000acme",
                "acme\u2028",
                "acme\u1680",
            ),
            *("ac\x00me", "ac\nme", "acme\r", "ac\x1bme", "ac\x7fme", "ac\x85me", "ac\x9bme"),
            *("ac\u200bme", "acme\u200d", "ac\u00adme", "\ufeffacme", "ac\u202eme", "ac\u2066me"),
            *(
                "acme\ufe0f",
                "acme\U000e0041",
                "ac\u3164me",
                "ac\u115fme",
                "ac\u034fme",
                "ac\u061cme",
            ),
            *("ac\ud800me", "\udfff", "a" * 192, "é" * 128, "🙂" * 64, "a" * 5000),
            *(Lying("acme"), Lying(""), mark_safe("acme"), Team.ACME, gettext_lazy("acme")),
        ],
        ids=lambda part: f"{type(part).__name__} {ascii(part)[:40]} {len(str(part))}",
    )
    def test_what_is_no_visible_text_is_refused_at_every_level(self, level, part):
        values = dict.fromkeys(COLUMNS[: COLUMNS.index(level)], "x") | {level: part}
        with pytest.raises(InvalidScope):
            Scope(**values)
        if level != "tenant":
            above = Scope(*["x"] * COLUMNS.index(level))
            with pytest.raises(InvalidScope):
                getattr(above, f"for_{level}")(part)

    @pytest.mark.parametrize("part", [*LOOKALIKES, "a", "a" * 191, "é" * 127, "🙂" * 63, "user 7"])
    def test_what_shows_all_it_holds_is_kept_as_it_is(self, part):
        scope = Scope(part, part, part, part)
        assert scope.parts == (part,) * 4
        assert scope == Scope(part).for_owner(part).for_agent(part).for_thread(part)

    @given(any_text)
    def test_the_rule_is_the_rule(self, text):
        try:
            Scope(text)
        except InvalidScope:
            assert not is_part(text)
        else:
            assert is_part(text)

    def test_the_limits_are_of_characters_and_of_bytes(self):
        assert (MAX_PART_CHARACTERS, MAX_PART_BYTES) == (191, 255)
        with pytest.raises(InvalidScope, match="255 bytes"):
            Scope("é" * 128)
        with pytest.raises(InvalidScope, match="191 visible characters"):
            Scope("a" * 192)

    def test_a_refusal_does_not_quote_the_name(self):
        with pytest.raises(InvalidScope) as refused:
            Scope("secret\u200b")
        assert "secret" not in str(refused.value)
        assert isinstance(refused.value, PrismGraphError)
        assert isinstance(refused.value, ValueError)

    def test_a_tenant_is_always_named(self):
        with pytest.raises(TypeError):
            Scope()
        with pytest.raises(InvalidScope):
            Scope("")


class TestLevels:
    def test_an_agent_needs_an_owner_and_a_thread_an_agent(self):
        for values in (
            {"agent": "a"},
            {"thread": "t"},
            {"owner": "o", "thread": "t"},
            {"agent": "a", "thread": "t"},
        ):
            with pytest.raises(InvalidScope):
                Scope("acme", **values)
        with pytest.raises(InvalidScope):
            Scope("acme").for_agent("a")
        with pytest.raises(InvalidScope):
            Scope("acme").for_thread("t")
        with pytest.raises(InvalidScope):
            Scope("acme", "o").for_thread("t")

    @pytest.mark.parametrize("level", LEVELS)
    def test_a_level_that_is_stated_is_not_empty(self, level):
        above = Scope(*["x"] * COLUMNS.index(level))
        with pytest.raises(InvalidScope):
            getattr(above, f"for_{level}")("")

    def test_going_to_another_owner_leaves_the_levels_below(self):
        scope = Scope("acme", "ana", "support", "chat-1")
        assert scope.for_owner("ben") == Scope("acme", "ben")
        assert scope.for_agent("sales") == Scope("acme", "ana", "sales")
        assert scope.for_thread("chat-2") == Scope("acme", "ana", "support", "chat-2")

    @given(scopes)
    def test_the_chain_is_the_scope_and_every_level_above_nearest_first(self, scope):
        chain = scope.chain
        assert chain[0] == scope
        assert chain[-1] == Scope(scope.tenant)
        assert len(chain) == sum(part != "" for part in scope.parts)
        for nearer, further in pairwise(chain):
            assert further.covers(nearer)
            assert not nearer.covers(further)

    @given(scopes, scopes)
    def test_a_scope_covers_those_that_have_it_in_their_chain(self, one, other):
        assert one.covers(other) is (one in other.chain)
        assert (one.covers(other) and other.covers(one)) is (one == other)


class TestIdentity:
    def test_names_that_look_alike_are_different_scopes(self):
        assert len({Scope(part) for part in LOOKALIKES}) == len(LOOKALIKES)
        assert len({Scope("t", part).token for part in LOOKALIKES}) == len(LOOKALIKES)

    @given(scopes, scopes)
    def test_equal_parts_are_equal_scopes_with_equal_tokens(self, one, other):
        same = one.parts == other.parts
        assert (one == other) is same
        assert (one.token == other.token) is same
        assert hash(one) == hash(Scope(*one.parts))

    @given(st.lists(st.text("ab", min_size=1, max_size=3), min_size=2, max_size=4))
    def test_a_token_tells_where_one_part_ends_and_the_next_begins(self, names):
        moved = [names[0] + names[1][0], names[1][1:] or "c", *names[2:]]
        assert Scope(*names).token != Scope(*moved).token

    def test_a_token_is_10_letters_and_digits_and_does_not_change(self):
        scope = Scope("acme", "ana", "support", "chat-1")
        assert len(scope.token) == TOKEN_LENGTH == 10
        assert set(scope.token) <= set(string.ascii_lowercase + "234567")
        # Stored with every indexed word: another value would need a repair of every database.
        assert Scope("acme").token == "5h2mamhqeo"

    def test_it_is_frozen(self):
        scope = Scope("acme")
        for name in (*COLUMNS, "chain", "token"):
            with pytest.raises((AttributeError, TypeError)):
                setattr(scope, name, "globex")
        with pytest.raises((TypeError, AttributeError)):
            scope.other = "globex"
        scope.columns["tenant"] = "globex"
        assert scope.columns["tenant"] == "acme"

    def test_what_is_replaced_is_checked_again(self):
        with pytest.raises(InvalidScope):
            dataclasses.replace(Scope("acme"), tenant="")
        with pytest.raises(InvalidScope):
            dataclasses.replace(Scope("acme", "ana", "support"), owner="")

    @given(scopes)
    def test_copies_are_equal(self, scope):
        for same in (copy.copy(scope), copy.deepcopy(scope), pickle.loads(pickle.dumps(scope))):
            assert same == scope
            assert hash(same) == hash(scope)
        assert Scope.from_columns(*scope.parts) == scope

    @pytest.mark.parametrize("value", [None, "acme", 7, ("acme",), {"tenant": "acme"}])
    def test_memory_takes_nothing_else(self, value):
        with pytest.raises(InvalidScope):
            Memory(value, using="default")


class TestOwners:
    def test_an_instance_is_named_by_its_model_and_key(self):
        assert Scope("acme").for_owner(User(pk=7)).owner == "auth.user/7"
        assert Scope("acme").for_owner(SimpleLazyObject(lambda: User(pk=7))).owner == "auth.user/7"
        assert Scope("acme").for_owner(Group(pk=7)).owner == "auth.group/7"
        assert Scope("acme", User(pk=7).get_username() or "ana").owner == "ana"

    def test_the_levels_below_an_instance_work_as_below_text(self):
        scope = Scope("acme").for_owner(User(pk=7)).for_agent("support").for_thread("chat-1")
        assert scope.parts == ("acme", "auth.user/7", "support", "chat-1")
        assert scope.chain[2] == Scope("acme").for_owner(User(pk=7))
        for same in (copy.deepcopy(scope), pickle.loads(pickle.dumps(scope))):
            assert same.for_thread("chat-1") == scope
        assert Scope.from_columns(*map(str, scope.parts)) == scope

    @pytest.mark.parametrize(
        "owner", ["auth.user/7", "auth.user/", "Shop.user/7", "café.kunde/1", "a.b/c/d", "_x.y/1"]
    )
    def test_text_cannot_pass_for_an_instance(self, owner):
        for make in (
            lambda: Scope("acme", owner),
            lambda: Scope("acme", owner, "support"),
            lambda: Scope("acme").for_owner(owner),
            lambda: dataclasses.replace(Scope("acme", "ana"), owner=owner),
        ):
            with pytest.raises(InvalidScope, match="for_owner"):
                make()

    @pytest.mark.parametrize(
        "owner", ["ana@example.com", "a/b", "a.b", "1.2/3", "https://a.b/c", "/"]
    )
    def test_text_that_spells_no_model_is_taken(self, owner):
        assert Scope("acme").for_owner(owner).owner == owner

    @pytest.mark.parametrize(
        "owner",
        [None, 7, User(), AnonymousUser(), SimpleNamespace(pk=7), object(), ["ana"], User, b"ana"],
        ids=lambda owner: type(owner).__name__,
    )
    def test_what_is_neither_text_nor_a_saved_instance_is_refused(self, owner):
        with pytest.raises(InvalidScope):
            Scope("acme").for_owner(owner)

    def test_a_key_that_is_no_part_is_refused(self):
        for key in ("a\u200bb", "a" * 200, "a "):
            with pytest.raises(InvalidScope):
                Scope("acme").for_owner(User(pk=key))

    def test_the_project_may_name_owners_itself(self, settings):
        settings.PRISM_GRAPH = {"OWNER_ID": lambda user: f"user-{user.pk}"}
        assert Scope("acme").for_owner(User(pk=7)) == Scope("acme", "user-7")

    @pytest.mark.parametrize("answer", [None, 7, "", " ", "a\u200b", b"ana", "a" * 192])
    def test_what_the_project_answers_is_checked(self, settings, answer: Any):
        settings.PRISM_GRAPH = {"OWNER_ID": lambda user: answer}
        with pytest.raises(InvalidScope):
            Scope("acme").for_owner(User(pk=7))

    def test_the_text_of_an_owner_is_plain_text(self):
        owner = Scope("acme").for_owner(User(pk=7)).owner
        assert isinstance(owner, ModelOwner)
        assert owner == "auth.user/7"
        assert {owner: 1}["auth.user/7"] == 1
