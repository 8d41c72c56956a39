"""The maths of ranking: BM25 over what is seen, neighbours' votes, fusion."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from prism_graph.analysis import Query, Segment, Term, index_terms, query_terms
from prism_graph.ranking import (
    FROM_EARLIER,
    FROM_LATER,
    SUMMED,
    Directory,
    rank,
)


class Rows:
    """Terms strings by row number, looked up as a database would; counts its calls."""

    def __init__(self, rows: dict[int, str]) -> None:
        self.rows = {number: set(terms.split(" ")) for number, terms in rows.items()}
        self.calls: list[Sequence[str]] = []

    def __call__(self, words: Sequence[str]) -> list[list[int]]:
        self.calls.append(words)
        return [sorted(n for n, terms in self.rows.items() if _holds(terms, w)) for w in words]


def _holds(terms: set[str], word: str) -> bool:
    if word.endswith("*"):
        return any(term.startswith(word[:-1]) for term in terms)
    return word in terms


def seen(
    texts: Sequence[str],
    *,
    turns: bool = False,
    numbers: Sequence[int] | None = None,
    trust: Sequence[int] | None = None,
    ordinals: Sequence[int] | None = None,
) -> tuple[Directory, Rows]:
    n = len(texts)
    analysed = [index_terms(text) for text in texts]
    numbers = range(n) if numbers is None else numbers
    directory = Directory(
        numbers=np.array(numbers, dtype=np.int64),
        lengths=np.array([length for _, length in analysed], dtype=np.int64),
        sources=np.zeros(n, dtype=np.int64) if turns else np.arange(n, dtype=np.int64),
        ordinals=np.array(range(n) if ordinals is None else ordinals, dtype=np.int64),
        trust=np.array([0] * n if trust is None else trust, dtype=np.int64),
        votes=np.full(n, turns),
    )
    return directory, Rows(dict(zip(numbers, (terms for terms, _ in analysed), strict=True)))


def scores(texts: Sequence[str], query: str, **kwargs: object) -> list[float]:
    directory, rows = seen(texts, **kwargs)  # type: ignore[arg-type]
    return [float(s) for s in rank(directory, query_terms(query), rows).scores]


def test_a_score_is_the_bm25_formula_worked_by_hand() -> None:
    directory, rows = seen(["red apple", "red red pear tart", "blue plum"])
    result = rank(directory, Query((Segment((Term("red", 1.0),)),)), rows)
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    average = 8 / 3
    expected = [
        idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / average))
        for tf, length in ((1, 2), (2, 4))
    ]
    assert result.scores[:2] == pytest.approx(expected, abs=1e-9)
    assert result.scores[2] == 0


def test_rarer_words_weigh_more_and_any_word_may_match() -> None:
    found = scores(["common rare", "common other", "common thing", "nothing here"], "common rare")
    assert found[0] > found[1] > 0
    assert found[3] == 0


def test_repeats_count_up_to_four_in_at_most_three_lookups() -> None:
    directory, rows = seen(["plum x y z", "plum plum y z", "plum plum plum plum", "none at all no"])
    found = rank(directory, query_terms("plum"), rows)
    assert found.matches["plum"].counts.tolist() == [1, 2, 4]
    assert found.scores[2] > found.scores[1] > found.scores[0]
    assert len(rows.calls) == 3


def test_nothing_found_asks_once() -> None:
    directory, rows = seen(["one text"])
    assert rank(directory, query_terms("absent"), rows).scores.tolist() == [0.0]
    assert len(rows.calls) == 1


def test_an_empty_directory_or_query_gives_no_scores() -> None:
    directory, rows = seen([])
    assert rank(directory, query_terms("anything"), rows).scores.tolist() == []
    directory, rows = seen(["a text"])
    assert rank(directory, query_terms("  "), rows).scores.tolist() == [0.0]
    assert rows.calls == []


def test_postings_outside_the_directory_change_nothing() -> None:
    directory, rows = seen(["apple pie", "plum pie"])
    before = rank(directory, query_terms("apple pie"), rows).scores
    rows.rows |= {77: {"appl", "pie"}, -5: {"pie", "pie²"}, 2**62: {"appl"}}
    assert rank(directory, query_terms("apple pie"), rows).scores.tolist() == before.tolist()


def test_scores_are_bit_equal_whatever_the_numbers_and_their_order() -> None:
    rng = np.random.default_rng(7)
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
    texts = [" ".join(rng.choice(words, rng.integers(1, 12))) for _ in range(60)]
    directory, rows = seen(texts, turns=True)
    query = query_terms("alpha beta gamma? delta")
    plain = rank(directory, query, rows).scores
    order = rng.permutation(60)
    numbers = rng.permutation(10_000)[:60]
    moved = Directory(
        numbers[order].astype(np.int64),
        *(getattr(directory, name)[order] for name in ("lengths", "sources", "ordinals")),
        directory.trust[order],
        directory.votes[order],
    )
    renamed = Rows({int(numbers[i]): " ".join(rows.rows[i]) for i in range(60)})
    other = rank(moved, query, renamed).scores
    assert other.tobytes() == plain[order].tobytes()


def test_an_adjacent_turn_lends_a_part_of_its_score() -> None:
    texts = ["where is the harbour", "ask the old man", "fine", "x", "x", "x", "x", "x", "x", "x"]
    found = scores(texts, "harbour", turns=True)
    assert found[1] == pytest.approx(found[0] * FROM_EARLIER[0], abs=1e-8)
    assert found[2] == pytest.approx(found[0] * FROM_EARLIER[1], abs=1e-8)
    assert found[7] == 0


def test_a_later_turn_lends_less_than_an_earlier_one() -> None:
    found = scores(["one", "two", "harbour", "three", "four"], "harbour", turns=True)
    assert found[3] > found[1] > 0
    assert found[1] == pytest.approx(found[2] * FROM_LATER[0], abs=1e-8)


def test_a_word_said_in_both_turns_counts_little_more_than_once() -> None:
    found = scores(["harbour view", "harbour walk", *["x"] * 12], "harbour", turns=True)
    alone = scores(["harbour view", "nothing walk", *["x"] * 12], "harbour", turns=True)
    assert found[1] < 2 * alone[0]
    assert SUMMED < 0.5


def test_documents_lend_nothing() -> None:
    assert scores(["harbour", "other", "third"], "harbour")[1:] == [0.0, 0.0]


def test_lower_trust_never_lends_to_higher() -> None:
    found = scores(["harbour", "said by a user", "x"], "harbour", turns=True, trust=[0, 5, 0])
    assert found[1] == 0
    assert found[2] > 0
    assert scores(["harbour", "y"], "harbour", turns=True, trust=[5, 0])[1] > 0


def test_a_gap_between_turns_keeps_its_distance() -> None:
    near = scores(["harbour", "y", "z"], "harbour", turns=True, ordinals=[0, 1, 50])
    assert near[1] > 0
    assert near[2] == 0


def test_turns_of_two_conversations_do_not_vote_for_each_other() -> None:
    directory, rows = seen(["harbour", "y"], turns=True)
    apart = Directory(
        directory.numbers, directory.lengths, np.array([1, 2]), directory.ordinals,
        directory.trust, directory.votes,
    )  # fmt: skip
    assert rank(apart, query_terms("harbour"), rows).scores[1] == 0


@pytest.mark.parametrize("turns", [False, True])
def test_the_explanation_recomputes_the_score(turns: bool) -> None:
    texts = ["harbour walk", "the harbour harbour hotel", "hotel bar", "nothing", "a harbour bar"]
    directory, rows = seen(texts, turns=turns)
    result = rank(directory, query_terms("harbour hotel"), rows)
    for at in range(len(texts)):
        told = result.explain(at)
        total = sum(part["weight"] * part["contribution"] for part in told["terms"])
        assert round(told["scale"] * total, 9) == pytest.approx(float(result.scores[at]), abs=1e-9)
        for part in told["terms"]:
            assert part["contribution"] == pytest.approx(part["own"] + part["lent"], abs=1e-12)


def test_arrays_of_different_lengths_are_refused() -> None:
    directory, _ = seen(["a", "b"])
    with pytest.raises(ValueError, match="one length"):
        Directory(
            directory.numbers, directory.lengths[:1], directory.sources, directory.ordinals,
            directory.trust, directory.votes,
        )  # fmt: skip


def test_a_pasted_question_ranks_what_it_ranks_alone() -> None:
    prose = "\n".join(
        f"The committee met in room {i} and discussed budgets, roads and schools."
        for i in range(45)
    )
    texts = ["The ferry to Skye leaves from Mallaig", "Budgets and roads", "Room 7 has no window"]
    directory, rows = seen(texts)
    for pasted in (
        f"{prose}\nWhere does the ferry leave?",
        f"Where does the ferry leave?\n{prose}",
    ):
        assert int(np.argmax(rank(directory, query_terms(pasted), rows).scores)) == 0


HARBOUR = (
    "The harbour master keeps the tide tables in the old customs house near the quay. "
    "Fishing boats unload mackerel and crab at the northern pier before dawn each day. "
    "A crane lifts timber from coastal freighters onto wagons bound for the sawmill. "
    "Storms close the outer basin for weeks, and pilots then wait beyond the lighthouse. "
    "Visitors climb the lighthouse stairs to watch cormorants dive along the breakwater."
)


@pytest.mark.parametrize("place", ["before", "between", "after"])
def test_a_claim_among_sentences_copied_from_one_passage_ranks_what_it_ranks_alone(
    place: str,
) -> None:
    claim = "Zinc supplements shorten colds in children."
    texts = [
        HARBOUR,
        "Zinc shortens colds. In trials zinc lozenges cut the length of colds, most in children.",
        "Iron supplements are given to children with anaemia.",
    ]
    first, second = HARBOUR[:250].rpartition(" ")[0], HARBOUR[250:]
    pasted = {
        "before": f"{claim} {HARBOUR}",
        "between": f"{first}. {claim} {second}",
        "after": f"{HARBOUR} {claim}",
    }[place]
    directory, rows = seen(texts)
    assert int(np.argmax(rank(directory, query_terms(claim), rows).scores)) == 1
    assert int(np.argmax(rank(directory, query_terms(pasted), rows).scores)) == 1


def test_sentences_answered_by_one_chunk_weigh_less_than_one_answered_elsewhere() -> None:
    directory, rows = seen(["red boat", "green hill", "blue sky"])
    red, boat, green = (Segment((Term(word, 1.0),)) for word in ("red", "boat", "green"))
    scales = rank(directory, Query((red, boat, green)), rows).scales
    assert scales[0] == scales[1] < scales[2] == 1.0


def test_a_sentence_that_a_chunk_holds_whole_weighs_less_than_one_it_is_about() -> None:
    directory, rows = seen(["red boat lake tree", "hill hill hill road road road", "blue", "grey"])
    copied = Segment(tuple(Term(word, 1.0) for word in ("red", "boat", "lake", "tree")))
    asked = Segment(tuple(Term(word, 1.0) for word in ("hill", "road", "moss")))
    scales = rank(directory, Query((copied, asked)), rows).scales
    assert scales[1] == 1.0
    assert scales[0] < 1.0
