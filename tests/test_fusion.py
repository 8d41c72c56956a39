"""The maths of two arms: contrasts of a vector store's candidates, and one order out of both."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_graph.ranking import FROM_EARLIER, Contrasts, Directory, Fused, Fusion, contrast, fuse

Scores = Mapping[int, float]
METHODS = ("contrast", "rrf", "weighted")
FUSIONS = st.one_of(
    st.builds(Fusion, st.just("contrast"), half=st.floats(0.1, 50)),
    st.builds(
        Fusion,
        st.just("rrf"),
        k=st.integers(1, 200),
        weights=st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)),
    ),
    st.builds(Fusion, st.just("weighted"), text=st.floats(0.1, 0.9)),
)
# Few values, so that scores tie; few positions, so that arms meet.
POSITIONS = st.integers(0, 30)
TEXT = st.dictionaries(POSITIONS, st.integers(1, 20).map(lambda n: n / 4), max_size=12)
VECTOR = st.dictionaries(POSITIONS, st.integers(0, 20).map(lambda n: n / 2), max_size=12)


def fused(fusion: Fusion, text: Scores, vector: Scores) -> Fused:
    return fuse(fusion, list(text), list(text.values()), list(vector), list(vector.values()))


def scores(fusion: Fusion, text: Scores, vector: Scores) -> dict[int, float]:
    result = fused(fusion, text, vector)
    return dict(zip(result.positions.tolist(), result.scores.tolist(), strict=True))


def documents(count: int, **arrays: Any) -> Directory:
    places = np.arange(count)
    given = {
        "numbers": places, "lengths": places, "sources": places, "ordinals": places,
        "trust": np.zeros(count, dtype=np.int64), "votes": np.zeros(count, dtype=bool),
    }  # fmt: skip
    return Directory(**given | arrays)


def turns(count: int, **arrays: Any) -> Directory:
    one = {"sources": np.zeros(count, dtype=np.int64), "votes": np.ones(count, dtype=bool)}
    return documents(count, **one | arrays)


def told(arm: Contrasts) -> dict[int, float]:
    return dict(zip(arm.positions.tolist(), arm.scores.tolist(), strict=True))


class TestContrast:
    def test_it_counts_from_the_last_candidate_in_means(self):
        arm = contrast(documents(9), [4, 1, 7, 2], [0.3, 0.9, 0.3, 0.5])
        # Above 0.3: 0, 0.6, 0, 0.2, which is 0.2 on average.
        assert told(arm) == {1: 3.0, 2: 1.0, 4: 0.0, 7: 0.0}

    @pytest.mark.parametrize(("scale", "shift"), [(10.0, 0.0), (1.0, -3.0), (0.05, 0.9)])
    def test_neither_scale_nor_offset_of_a_model_matters(self, scale: float, shift: float):
        similarities = np.array([0.9, 0.5, 0.4, 0.1])
        plain = contrast(documents(4), range(4), similarities)
        moved = contrast(documents(4), range(4), similarities * scale + shift)
        assert moved.scores == pytest.approx(plain.scores, abs=1e-8)

    @pytest.mark.parametrize("similarities", [[0.4], [0.4, 0.4, 0.4], [0.0, 0.0]])
    def test_where_all_are_alike_each_is_the_mean(self, similarities: list[float]):
        arm = contrast(documents(3), range(len(similarities)), similarities)
        assert arm.scores.tolist() == [1.0] * len(similarities)

    def test_no_candidates_are_no_arm(self):
        arm = contrast(turns(3), [], [])
        assert arm.positions.tolist() == arm.scores.tolist() == []

    def test_a_turn_lends_to_those_that_the_store_did_not_name(self):
        arm = contrast(turns(8), [1, 5], [0.8, 0.2])
        assert told(arm)[1] == 2.0
        assert told(arm)[2] == pytest.approx(FROM_EARLIER[0] * 2.0)
        assert 0 in told(arm)

    def test_documents_lend_nothing(self):
        assert told(contrast(documents(8), [1, 5], [0.8, 0.2])) == {1: 2.0, 5: 0.0}

    def test_lower_trust_never_lends_to_higher(self):
        arm = contrast(turns(3, trust=np.array([0, 5, 5])), [0, 2], [0.8, 0.2])
        assert told(arm) == {0: 2.0, 2: 0.0}

    def test_the_explanation_recomputes_the_score(self):
        arm = contrast(turns(6), [1, 3, 4], [0.8, 0.35, 0.2])
        for position, score in told(arm).items():
            part = arm.explain(position)
            assert json.loads(json.dumps(part)) == part
            similarity = part["similarity"]
            own = 0.0 if similarity is None else (similarity - part["floor"]) / part["mean"]
            assert own == part["own"]
            assert part["own"] + part["lent"] == pytest.approx(score, abs=1e-12)
        with pytest.raises(KeyError):
            contrast(documents(3), [0], [0.5]).explain(1)

    @given(
        st.lists(st.floats(-1, 1), min_size=1, max_size=20).flatmap(
            lambda values: st.tuples(st.just(values), st.permutations(range(len(values))))
        )
    )
    def test_the_order_of_candidates_changes_no_bit(self, drawn: Any):
        values, places = drawn
        plain = contrast(turns(20), range(len(values)), values)
        moved = contrast(turns(20), places, [values[at] for at in places])
        assert plain.scores.tobytes() == moved.scores.tobytes()


class TestFuse:
    def test_contrasts_are_added_to_text_scores(self):
        found = scores(Fusion(half=7.0), {1: 10.0, 2: 4.0}, {2: 7.0, 3: 14.0})
        assert found == {1: 10.0, 2: 4.0 + 5.0, 3: 8.0}

    def test_no_contrast_outweighs_the_best_text_score(self):
        found = scores(Fusion(), {1: 3.0}, {2: 150.0, 3: 0.0})
        assert 0.99 * found[1] < found[2] < found[1]

    def test_reciprocal_ranks_are_added_with_weights(self):
        fusion = Fusion("rrf", k=60, weights=(1.0, 2.0))
        found = scores(fusion, {1: 9.0, 2: 5.0}, {2: 0.9, 3: 0.1})
        assert found == pytest.approx({1: 1 / 61, 2: 1 / 62 + 2 / 61, 3: 2 / 62}, abs=1e-9)

    def test_equal_scores_share_a_rank(self):
        fusion = Fusion("rrf")
        found = scores(fusion, {1: 9.0, 2: 5.0, 3: 5.0, 4: 1.0}, {9: 1.0})
        assert found[2] == found[3] == pytest.approx(1 / 62, abs=1e-9)
        assert found[4] == pytest.approx(1 / 64, abs=1e-9)

    def test_weighted_scores_are_normalised_per_arm(self):
        found = scores(Fusion("weighted", text=0.6), {1: 4.0, 2: 2.0}, {2: 0.9, 3: 0.1})
        assert found == pytest.approx({1: 0.6, 2: 0.3 + 0.4, 3: 0.0}, abs=1e-9)

    def test_vectors_that_are_all_alike_count_whole(self):
        found = scores(Fusion("weighted", text=0.6), {1: 4.0}, {2: 0.9, 3: 0.9})
        assert found == pytest.approx({1: 0.6, 2: 0.4, 3: 0.4}, abs=1e-9)

    @pytest.mark.parametrize("method", METHODS)
    def test_two_empty_arms_are_empty(self, method: str):
        assert scores(Fusion(method), {}, {}) == {}

    @given(FUSIONS, TEXT, VECTOR)
    def test_every_position_of_either_arm_is_there_once(self, fusion, text, vector):
        assert fused(fusion, text, vector).positions.tolist() == sorted({*text, *vector})

    @given(FUSIONS, TEXT)
    def test_where_one_arm_is_empty_the_other_stays_as_it_is(self, fusion, arm):
        assert scores(fusion, arm, {}) == scores(fusion, {}, arm) == arm

    @given(FUSIONS, TEXT, VECTOR, st.data())
    def test_neither_order_nor_positions_change_a_score(self, fusion, text, vector, data):
        names = data.draw(st.permutations(range(31)))
        moved = [
            {names[at]: arm[at] for at in data.draw(st.permutations(list(arm)))}
            for arm in (text, vector)
        ]
        expected = {names[at]: score for at, score in scores(fusion, text, vector).items()}
        assert scores(fusion, *moved) == expected

    @given(FUSIONS, TEXT, VECTOR)
    def test_a_position_that_is_higher_in_both_arms_is_no_lower(self, fusion, text, vector):
        found = scores(fusion, text, vector)
        for a in found:
            for b in found:
                if all(arm.get(a, -1.0) >= arm.get(b, -1.0) for arm in (text, vector)):
                    assert found[a] >= found[b]

    @given(FUSIONS, TEXT, VECTOR)
    def test_the_explanation_recomputes_the_score(self, fusion, text, vector):
        result = fused(fusion, text, vector)
        for at, score in scores(fusion, text, vector).items():
            part = result.explain(at)
            assert json.loads(json.dumps(part)) == part
            for name, arm in (("text", text), ("vector", vector)):
                assert (part[name] is None) == (at not in arm)
                if part[name] is not None:
                    assert part[name]["score"] == arm[at]
                    assert part[name]["rank"] == 1 + sum(s > arm[at] for s in arm.values())
                    assert part[name]["part"] == recomputed(part, name)
            assert round(sum(part[n]["part"] for n in ("text", "vector") if part[n]), 9) == score

    def test_what_is_not_there_has_no_explanation(self):
        with pytest.raises(KeyError):
            fused(Fusion(), {1: 1.0}, {2: 1.0}).explain(3)


def recomputed(told: Mapping[str, Any], arm: str) -> float:
    """What an arm's part is by its explanation alone, as the documentation has it."""
    score, rank, given = told[arm]["score"], told[arm]["rank"], told["parameters"]
    if told["method"] == "rrf":
        part = given["weights"][arm == "vector"] / (given["k"] + rank)
    elif told["method"] == "weighted" and arm == "text":
        part = given["text"] * score / given["best"]
    elif told["method"] == "weighted":
        span = given["high"] - given["low"]
        part = (1 - given["text"]) * ((score - given["low"]) / span if span else 1.0)
    elif told["method"] == "contrast" and arm == "vector":
        part = given["best"] * (score * score) / (score * score + given["half"] ** 2)
    else:
        part = score
    return float(np.round(part, 9))


class TestSetting:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (None, Fusion("contrast")),
            ("contrast", Fusion("contrast")),
            ("rrf", Fusion("rrf", k=60, weights=(1.0, 1.0))),
            ("weighted", Fusion("weighted", text=0.6)),
            ({"method": "contrast", "half": 5}, Fusion("contrast", half=5)),
            (
                {"method": "rrf", "k": 10, "weights": [2, 1]},
                Fusion("rrf", k=10, weights=(2, 1)),
            ),
            ({"method": "weighted", "text": 0.7}, Fusion("weighted", text=0.7)),
        ],
    )
    def test_it_is_read(self, value: object, expected: Fusion):
        assert Fusion.of(value) == expected

    @pytest.mark.parametrize("method", METHODS)
    def test_its_options_spell_it_again(self, method: str):
        assert Fusion.of({"method": method, **Fusion(method).options}) == Fusion(method)

    @pytest.mark.parametrize(
        ("value", "complaint"),
        [
            (7, "None, a method's name or a dict"),
            (["rrf"], "None, a method's name or a dict"),
            ("best", "method of fusion must be 'contrast' or 'rrf' or 'weighted'"),
            ({}, "method of fusion"),
            ({"k": 60}, "method of fusion"),
            ({"method": ["rrf"]}, "method of fusion"),
            ({"method": "rrf", "text": 0.5}, "no option 'text', only 'k' or 'weights'"),
            ({"method": "weighted", 3: 4}, "no option '3'"),
            ({"method": "rrf", "k": 0}, "k must"),
            ({"method": "rrf", "k": 1.5}, "k must"),
            ({"method": "rrf", "k": True}, "k must"),
            ({"method": "rrf", "k": "60"}, "k must"),
            ({"method": "rrf", "weights": [1]}, "weights must"),
            ({"method": "rrf", "weights": 1}, "weights must"),
            ({"method": "rrf", "weights": "11"}, "weights must"),
            ({"method": "rrf", "weights": [1, -1]}, "weights must"),
            ({"method": "rrf", "weights": [1, 0]}, "weights must"),
            ({"method": "rrf", "weights": [1, True]}, "weights must"),
            ({"method": "rrf", "weights": [1, math.nan]}, "weights must"),
            ({"method": "rrf", "weights": [math.inf, 1]}, "weights must"),
            ({"method": "weighted", "text": 1}, "text must"),
            ({"method": "weighted", "text": math.nan}, "text must"),
            ({"method": "weighted", "text": None}, "text must"),
            ({"method": "contrast", "half": 0}, "half must"),
            ({"method": "contrast", "half": math.inf}, "half must"),
        ],
    )
    def test_what_is_wrong_is_said(self, value: object, complaint: str):
        with pytest.raises(ValueError, match=complaint):
            Fusion.of(value)

    def test_a_fusion_made_by_hand_is_checked_too(self):
        with pytest.raises(ValueError, match="method of fusion"):
            Fusion("best")


def test_what_counts_half_is_what_chance_gives_the_best_of_as_many() -> None:
    rng = np.random.default_rng(7)
    for many in (5, 30, 300):
        best = rng.exponential(size=(4000, many)).max(axis=1).mean()
        half = Fusion().among(many).half
        assert half == pytest.approx(best, rel=0.06)
    assert Fusion(half=3.0).among(300).half == 3.0
    assert Fusion().among(0) == Fusion()
