from __future__ import annotations

import copy
import dataclasses
import pickle
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_graph import Origin, Trust
from prism_graph.errors import InvalidOrigin, PrismGraphError
from prism_graph.trust import least

HIGHEST_FIRST = (
    {Trust.USER, Trust.DOCUMENT},
    {Trust.SYSTEM},
    {Trust.AGENT},
    {Trust.SUBAGENT},
    {Trust.CONSOLIDATOR},
    {Trust.TOOL},
)
any_trust = st.sampled_from(list(Trust))


def rank(trust: Trust) -> int:
    return next(place for place, level in enumerate(HIGHEST_FIRST) if trust in level)


class TestTrust:
    def test_user_and_document_come_first_and_tool_last(self):
        assert set().union(*HIGHEST_FIRST) == set(Trust)
        for one, other in product(Trust, Trust):
            assert (one.level > other.level) is (rank(one) < rank(other))
            assert (one.level == other.level) is (rank(one) == rank(other))

    def test_what_a_row_stores_does_not_change(self):
        # Stored in every row: another number would rewrite what was trusted.
        codes = {trust.value: trust.code for trust in Trust}
        names = ("user", "document", "system", "agent", "subagent", "consolidator", "tool")
        assert codes == {name: code for code, name in enumerate(names)}

    @pytest.mark.parametrize("trust", Trust)
    def test_it_is_found_by_its_number_and_by_its_name(self, trust):
        assert Trust.from_code(trust.code) is trust
        assert Trust.named(trust.value) is trust
        assert Trust(trust.value) is trust
        assert str(trust) == trust.value
        assert copy.deepcopy(trust) is trust
        assert pickle.loads(pickle.dumps(trust)) is trust

    @pytest.mark.parametrize("value", [7, -1, "user", None])
    def test_no_other_number_is_one(self, value):
        with pytest.raises(KeyError):
            Trust.from_code(value)

    @pytest.mark.parametrize("value", ["USER", "User", " user", "", 0, None])
    def test_no_other_name_is_one(self, value):
        with pytest.raises(KeyError):
            Trust.named(value)


class TestLeast:
    @given(any_trust, st.lists(any_trust))
    def test_it_is_never_above_anything_it_came_from(self, own, cited):
        found = least(own, cited)
        assert found in {own, *cited}
        assert all(found.level <= each.level for each in (own, *cited))

    @given(any_trust, st.lists(any_trust), any_trust)
    def test_more_citations_only_lower(self, own, cited, more):
        assert least(own, [*cited, more]).level <= least(own, cited).level

    @given(any_trust)
    def test_text_of_its_own_keeps_its_class(self, own):
        assert least(own, []) is own
        assert least(own, iter([])) is own

    def test_equal_ranks_keep_the_writer_s_own_class(self):
        assert least(Trust.USER, [Trust.DOCUMENT]) is Trust.USER
        assert least(Trust.DOCUMENT, [Trust.USER]) is Trust.DOCUMENT


class TestOrigin:
    @pytest.mark.parametrize("trust", [None, "user", 0, 5, True, "USER", Trust, ["user"], object()])
    def test_its_trust_is_a_member_and_nothing_that_spells_one(self, trust):
        with pytest.raises(InvalidOrigin):
            Origin(trust)

    @pytest.mark.parametrize("writer", [None, 7, b"ana", ["ana"], "a\x00b", "a\ud800", "a" * 256])
    def test_its_writer_is_text_that_can_be_stored(self, writer):
        with pytest.raises(InvalidOrigin):
            Origin(Trust.USER, writer)
        assert issubclass(InvalidOrigin, PrismGraphError)

    def test_a_writer_may_be_left_out_or_long(self):
        assert Origin(Trust.USER).writer == ""
        assert Origin(Trust.USER, "a" * 255).writer == "a" * 255

    def test_it_is_a_value(self):
        origin = Origin(Trust.USER, "ana")
        assert origin == pickle.loads(pickle.dumps(origin)) == copy.deepcopy(origin)
        assert hash(origin) == hash(Origin(Trust.USER, "ana"))
        with pytest.raises(dataclasses.FrozenInstanceError):
            origin.trust = Trust.USER
        with pytest.raises(InvalidOrigin):
            dataclasses.replace(origin, trust="user")
