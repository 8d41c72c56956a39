from __future__ import annotations

import base64
import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_graph.embedders.decoding import decode
from prism_graph.errors import InvalidVector

ROOT = Path(__file__).parents[2]
CASES = Path(os.environ.get("PRISM_GRAPH_CASES", ROOT.parent / "shared" / "cases"))
SHARED = CASES / "embedding-decoding" / "cases.json"
floats = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1)


def shared() -> list[Any]:
    if not SHARED.is_file():
        skip = pytest.mark.skip(reason=f"PRISM_GRAPH_CASES names no {SHARED.name}")
        return [pytest.param({}, marks=skip, id="none")]
    cases = json.loads(SHARED.read_text(encoding="utf-8"))["cases"]
    return [pytest.param(case, id=case["title"]) for case in cases]


def encoded(*numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def numbered(*replies: Any) -> list[Any]:
    return [pytest.param(reply, id=str(place)) for place, reply in enumerate(replies)]


@pytest.mark.parametrize("case", shared())
def test_every_case_of_the_shared_corpus_is_decoded_or_refused(case: dict[str, Any]) -> None:
    expected = case["expected"]["php"].get("embedding")
    if expected is not None:
        assert decode(case["embedding"]).tolist() == expected
        return
    with pytest.raises(InvalidVector):
        decode(case["embedding"])


@given(floats)
def test_base64_and_floats_are_the_same_vector(numbers: list[float]) -> None:
    assert decode(encoded(*numbers)).tolist() == decode(numbers).tolist() == numbers


@pytest.mark.parametrize(
    "reply",
    numbered(
        [1, -2.5, 0.5, 0],
        (1.0, np.float32(-2.5), np.float16(0.5), np.int8(0)),
        np.array([1, -2.5, 0.5, 0], dtype=np.float16),
        np.array([1, -2.5, 0.5, 0], dtype=">f8"),
        np.array([1, -2.5, 0.5, 0], dtype=object),
        np.array([1, -2.5, 0.5, 0], dtype=np.longdouble),
        encoded(1, -2.5, 0.5, 0),
    ),
)
def test_numbers_of_every_kind_are_read(reply: Any) -> None:
    assert decode(reply).tolist() == [1, -2.5, 0.5, 0]
    assert decode(reply).dtype == np.float64


@pytest.mark.parametrize(
    "reply",
    numbered(
        *(None, 7, 1.5, True, {}, {"a": 1.0}, {1.0, 2.0}, object(), b"AACAPw==", bytearray(4)),
        *([], (), "", np.zeros(0), np.zeros((1, 2)), np.float64(1), [[1.0, 2.0]], [1.0, [2.0]]),
        *([True, False], [1.0, True], [1.0, np.True_], np.array([True, False])),
        *(["1.0"], [None], [1.0, None], [1j], np.array([1j]), [b"1"], np.array(["1.0"])),
        *([float("nan")], [1.0, float("inf")], [-float("inf")], [1e39], [-1e300], [10**400]),
        *(np.array([1.0, np.nan]), np.array([1e39]), np.array([1e39, "x"], dtype=object)),
        *(encoded(float("nan")), encoded(1.0, float("inf")), encoded(-float("inf"))),
        *("not!base64", "AACAPwA=", "AAAAAB==", "AACAPw", "AACA Pw==", "AACAPw==\n", "ＡACAPw=="),
        *(
            "AACAPw==AACAPw==",
            "====",
            "\ud800",
            "[1.0]",
            "_-_-",
            base64.b64encode(b"\x01" * 6).decode(),
        ),
        base64.b64encode(struct.pack("<I", 0x7F800001)).decode(),  # a NaN that signals
        np.array([np.longdouble("1e400")]),
    ),
)
def test_everything_else_is_refused_in_words_of_its_own(reply: Any) -> None:
    with pytest.raises(InvalidVector) as refusal:
        decode(reply)
    assert str(refusal.value).startswith("The vector")
    assert refusal.value.__cause__ is None


@given(
    st.one_of(st.text(), st.binary(), st.lists(st.one_of(st.floats(), st.integers(), st.text())))
)
def test_whatever_comes_is_finite_or_refused(reply: Any) -> None:
    try:
        found = decode(reply)
    except InvalidVector:
        return
    assert np.isfinite(found.astype(np.float32)).all()
