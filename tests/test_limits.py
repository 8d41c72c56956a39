from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import count
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import transaction
from django.test import override_settings

from prism_graph import Memory, Origin, PrismGraphError, Scope, Trust
from prism_graph.chunking import MarkdownChunker, Piece
from prism_graph.errors import (
    InvalidChunking,
    InvalidEvidence,
    InvalidInput,
    InvalidMetadata,
    InvalidOrigin,
    InvalidText,
    LimitExceeded,
    SourceKindMismatch,
    SourceNotFound,
)
from tests.rawsql import stored

pytestmark = pytest.mark.django_db

ACME = Scope("acme")
USER = Origin(Trust.USER)
CANARY = "canary7f3a"
KB = 1024


@pytest.fixture
def memory() -> Memory:
    memory = Memory(ACME)
    memory.ingest("document", "text", origin=USER)
    memory.record("conversation", "text", origin=USER, turn_id="turn")
    return memory


def cases(name: str, values: list[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(name, values, ids=[str(each) for each in range(len(values))])


def chain_of(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException | None] = [error]
    while seen:
        if (each := seen.pop()) is not None:
            yield each
            seen += [each.__cause__, each.__context__]


def refused(
    memory: Memory, expected: type[PrismGraphError], call: Callable[[], Any]
) -> PrismGraphError:
    """Make the call inside the caller's transaction; return what was raised after looking around."""
    before, groups = stored(), Group.objects.count()
    with transaction.atomic():
        Group.objects.create(name=f"caller's {groups}")
        with pytest.raises(expected) as caught:
            call()
        Group.objects.create(name=f"caller's {groups + 1}")
    assert stored() == before
    assert Group.objects.count() == groups + 2
    assert memory.record("usable", "text", origin=USER).added
    for error in chain_of(caught.value):
        assert CANARY not in f"{error} {error!r} {error.args} {getattr(error, '__notes__', '')}"
    message = str(caught.value)
    assert message.endswith(".")
    assert len(message) > 20
    return caught.value


UNSTORABLE = [f"{CANARY}\x00", f"{CANARY}\ud800", f"\udfff{CANARY}", "\x00"]
NO_TEXT = [None, 7, 2**70, 1.5, b"bytes", [CANARY], {"a": CANARY}, (CANARY,), True, object(), str]

Write = Callable[[Memory, Any], Any]
TEXT_ARGUMENTS: dict[str, Write] = {
    "key": lambda memory, bad: memory.ingest(bad, "text", origin=USER),
    "text": lambda memory, bad: memory.ingest("new", bad, origin=USER),
    "uri": lambda memory, bad: memory.ingest("new", "text", origin=USER, uri=bad),
    "title": lambda memory, bad: memory.ingest("new", "text", origin=USER, title=bad),
    "conversation": lambda memory, bad: memory.record(bad, "text", origin=USER),
    "turn": lambda memory, bad: memory.record("new", bad, origin=USER),
    "speaker": lambda memory, bad: memory.record("new", "text", origin=USER, speaker=bad),
    "turn_id": lambda memory, bad: memory.record("new", "text", origin=USER, turn_id=bad),
    "retired key": lambda memory, bad: memory.retire_source(bad),
    "erased key": lambda memory, bad: memory.erase(bad),
    "erased conversation": lambda memory, bad: memory.erase_turn(bad, "turn"),
    "erased turn": lambda memory, bad: memory.erase_turn("conversation", bad),
}


@pytest.mark.parametrize("name", TEXT_ARGUMENTS)
def test_text_with_a_nul_or_a_lone_surrogate_is_refused(memory: Memory, name: str) -> None:
    for bad in UNSTORABLE:
        error = refused(memory, InvalidText, lambda bad=bad: TEXT_ARGUMENTS[name](memory, bad))
        assert "remove it" in str(error)


@pytest.mark.parametrize("name", TEXT_ARGUMENTS)
def test_what_is_no_text_is_refused(memory: Memory, name: str) -> None:
    for bad in NO_TEXT:
        if bad is None and name == "turn_id":
            continue
        refused(memory, InvalidInput, lambda bad=bad: TEXT_ARGUMENTS[name](memory, bad))


SIZES: dict[str, tuple[Write, int]] = {
    **{
        name: (TEXT_ARGUMENTS[name], 512)
        for name in ("key", "conversation", "turn_id", "erased key", "erased turn")
    },
    **{name: (TEXT_ARGUMENTS[name], 2 * KB) for name in ("uri", "title", "speaker")},
}


@pytest.mark.parametrize("name", SIZES)
def test_text_at_its_limit_is_taken_and_one_more_is_refused(memory: Memory, name: str) -> None:
    call, limit = SIZES[name]
    call(memory, "x" * limit)
    for bad in (CANARY.ljust(limit + 1, "x"), CANARY * 10**5):
        error = refused(memory, LimitExceeded, lambda bad=bad: call(memory, bad))
        assert "shorten" in str(error)


@pytest.mark.parametrize("name", ["key", "conversation", "turn_id", "erased key", "erased turn"])
def test_an_empty_key_is_refused(memory: Memory, name: str) -> None:
    refused(memory, InvalidInput, lambda: TEXT_ARGUMENTS[name](memory, ""))


def test_labels_are_measured_in_bytes_and_keys_in_characters(memory: Memory) -> None:
    memory.ingest("é" * 512, "text", origin=USER, title="é" * KB)
    memory.record("\U0001f600" * 512, "text", origin=USER, turn_id="\U0001f600" * 512)
    refused(
        memory, LimitExceeded, lambda: memory.ingest("k", "t", origin=USER, title="é" * KB + "x")
    )
    assert {source.key for source in memory.sources()} >= {"é" * 512, "\U0001f600" * 512}


def test_an_empty_turn_is_refused(memory: Memory) -> None:
    refused(memory, InvalidInput, lambda: memory.record("new", "", origin=USER))


@override_settings(PRISM_GRAPH={"MAX_TEXT": 5000})
def test_text_is_measured_against_the_setting(memory: Memory) -> None:
    for write in (memory.ingest, memory.record):
        key = write.__name__
        write(key, "x" * 5000, origin=USER)
        write(f"{key} in bytes", "é" * 2500, origin=USER)
        for bad in (CANARY.ljust(5001), "é" * 2500 + "x", CANARY * 10**5):
            refused(
                memory,
                LimitExceeded,
                lambda bad=bad, write=write: write("new", bad, origin=USER),
            )


def test_ten_megabytes_are_taken_by_default_and_a_byte_more_is_refused(memory: Memory) -> None:
    text = "z" * 10 * KB * KB
    slices = lambda text: (text[at : at + 60_000] for at in range(0, len(text), 60_000))  # noqa: E731
    assert len(memory.ingest("large", text, origin=USER, chunker=slices).added) > 170
    refused(memory, LimitExceeded, lambda: memory.ingest("new", text + "x", origin=USER))


# metadata


def nested(depth: int, value: Any = "x") -> Any:
    for _ in range(depth):
        value = {"a": value}
    return value


def test_metadata_at_its_limits_is_taken(memory: Memory) -> None:
    large = {"a": "x" * (16 * KB - len('{"a": ""}'))}
    for number, good in enumerate(
        ({}, nested(4), {"a": [[[1]]]}, large, {"": None, "a": True, "b": -(2**63)})
    ):
        memory.ingest(f"k{number}", "text", origin=USER, metadata=good)
    stored = {source.key: source.metadata for source in memory.sources()}
    assert stored["k1"] == nested(4)
    assert stored["k3"] == large
    assert stored["k4"] == {"": None, "a": True, "b": -(2**63)}


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@cases(
    "bad",
    [
        *(CANARY, 7, [CANARY], b"{}", True, [("a", CANARY)], object(), dict),
        *({7: CANARY}, {None: 1}, {b"a": 1}, {("a",): 1}),
        *({"a": object()}, {"a": b"bytes"}, {"a": {1, 2}}, {"a": datetime(2026, 1, 1)}),
        *({"a": float("nan")}, {"a": float("inf")}, {"a": 2**63}, {"a": -(2**63) - 1}),
        *({"a": 10**400}, {"a": 1j}, {"a": ENDLESS}, nested(5), {"a": [[[[CANARY]]]]}),
        *(nested(1000), {CANARY: "x" * 16 * KB}, {f"{CANARY}{n}": n for n in range(10_000)}),
        {"a": "é" * 9 * KB},
    ],
)
def test_metadata_beyond_its_limits_is_refused(memory: Memory, bad: Any) -> None:
    error = refused(
        memory, InvalidMetadata, lambda: memory.ingest("new", "text", origin=USER, metadata=bad)
    )
    assert "etadata" in str(error)


@cases("bad", UNSTORABLE)
def test_metadata_with_a_nul_or_a_lone_surrogate_is_refused(memory: Memory, bad: str) -> None:
    for metadata in ({"a": bad}, {bad: 1}, {"a": [bad]}, {"a": {"b": {bad: 1}}}):
        refused(
            memory,
            InvalidText,
            lambda metadata=metadata: memory.ingest("new", "x", origin=USER, metadata=metadata),
        )


def test_what_json_would_change_is_stored_as_json_reads_it_back(memory: Memory) -> None:
    memory.ingest("k", "text", origin=USER, metadata={"a": (1, 2), "b": {"c": (True,)}})
    source = next(source for source in memory.sources() if source.key == "k")
    assert source.metadata == {"a": [1, 2], "b": {"c": [True]}}


# origin, lineage, chunks


@cases("bad", [None, "user", Trust.USER, 7, ("user", "w"), Origin, {"trust": 1}])
def test_what_is_no_origin_is_refused(memory: Memory, bad: Any) -> None:
    refused(memory, InvalidOrigin, lambda: memory.ingest("new", "text", origin=bad))
    refused(memory, InvalidOrigin, lambda: memory.record("new", "text", origin=bad))


@cases(
    "values",
    [
        *(("user", ""), (None, ""), (5, ""), (Trust, "")),
        *((Trust.USER, None), (Trust.USER, 7), (Trust.USER, b"w"), (Trust.USER, ["w"])),
        *((Trust.USER, f"{CANARY}\x00"), (Trust.USER, "\ud800"), (Trust.USER, CANARY * 100)),
    ],
)
def test_an_origin_of_the_wrong_kinds_cannot_be_made(values: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidOrigin) as caught:
        Origin(*values)
    assert CANARY not in f"{caught.value!r}"


def test_a_writer_has_up_to_255_characters(memory: Memory) -> None:
    added = memory.record("new", "text", origin=Origin(Trust.USER, "é" * 255)).added
    assert memory.get(added)[0].writer == "é" * 255
    with pytest.raises(InvalidOrigin):
        Origin(Trust.USER, "x" * 256)


@cases("bad", ["a" * 26, b"a", 7, None, 1.5, [7], [None], [b"a"], [["a"]], [{}]])
def test_a_lineage_of_the_wrong_kinds_is_refused(memory: Memory, bad: Any) -> None:
    for write in (memory.ingest, memory.record):
        refused(
            memory, InvalidInput, lambda write=write: write("n", "t", origin=USER, derived_from=bad)
        )


def test_a_lineage_without_end_is_refused(memory: Memory) -> None:
    endless = (str(number) for number in count())
    refused(
        memory,
        LimitExceeded,
        lambda: memory.record("new", "text", origin=USER, derived_from=endless),
    )


def test_a_lineage_that_is_not_visible_is_refused(memory: Memory) -> None:
    refused(
        memory,
        InvalidEvidence,
        lambda: memory.ingest("new", CANARY, origin=USER, derived_from=[CANARY]),
    )


CHUNKERS: dict[str, tuple[Any, type[PrismGraphError]]] = {
    "nothing that cuts": (object(), InvalidChunking),
    "a number": (7, InvalidChunking),
    "text": (CANARY, InvalidChunking),
    "a class": (MarkdownChunker, InvalidChunking),
    "no pieces": (lambda text: [], InvalidChunking),
    "None": (lambda text: None, InvalidChunking),
    "the text itself": (lambda text: text, InvalidChunking),
    "other text": (lambda text: [CANARY, text], InvalidChunking),
    "a part only": (lambda text: [text[:-1]], InvalidChunking),
    "a gap": (lambda text: [Piece(0, 1), Piece(2, len(text))], InvalidChunking),
    "an overlap": (lambda text: [Piece(0, 2), Piece(1, len(text))], InvalidChunking),
    "backwards": (lambda text: [Piece(1, len(text)), Piece(0, 1)], InvalidChunking),
    "beyond the end": (lambda text: [Piece(0, len(text) + 1)], InvalidChunking),
    "empty pieces": (lambda text: [Piece(0, 0), Piece(0, len(text))], InvalidChunking),
    "numbers": (lambda text: [1, 2], InvalidChunking),
    "a heading that is no text": (lambda text: [Piece(0, len(text), 7)], InvalidChunking),  # type: ignore[arg-type]
    "a heading with a NUL": (lambda text: [Piece(0, len(text), f"{CANARY}\x00")], InvalidText),
    "a heading with a surrogate": (lambda text: [Piece(0, len(text), "\ud800")], InvalidText),
    "a heading of a book": (lambda text: [Piece(0, len(text), CANARY * 500)], LimitExceeded),
}


@pytest.mark.parametrize("name", CHUNKERS)
def test_a_chunker_that_breaks_its_promise_is_refused(memory: Memory, name: str) -> None:
    chunker, expected = CHUNKERS[name]
    refused(
        memory, expected, lambda: memory.ingest("new", f"{CANARY}!", origin=USER, chunker=chunker)
    )


def test_a_chunk_has_up_to_64_kb(memory: Memory) -> None:
    whole = lambda text: [text]  # noqa: E731
    for good in ("x" * 64 * KB, "é" * 32 * KB, "\U0001f600" * 16 * KB):
        added = memory.ingest("fits", good, origin=USER, chunker=whole).added
        assert memory.get(added)[0].text == good
    for bad in (CANARY.ljust(64 * KB + 1), "é" * 32 * KB + "x"):
        refused(
            memory,
            LimitExceeded,
            lambda bad=bad: memory.ingest("new", bad, origin=USER, chunker=whole),
        )


@cases(
    "text",
    [
        " ".join(f"{number:x}" for number in range(2**17))[: 64 * KB],
        "-".join(f"{number:x}" for number in range(2**17))[: 64 * KB],
        " ".join(f"a{number:x}-b{number:x}.c{number:x}" for number in range(5000))[: 64 * KB],
        "".join(chr(0x4E00 + number % 20000) for number in range(21_800)),
        "".join(
            chr(0x0E01 + (number * number * 7 + number // 46) % 46) for number in range(21_800)
        ),
        "".join(chr(0x20000 + number) for number in range(16_000)),
        "x" * 64 * KB,
        "\u0301" * 32 * KB,
        "é" * 32 * KB,
        "aB" * 32 * KB,
        "Ünïcödé" * 5000,
    ],
)
def test_the_heaviest_chunks_fit_the_index(memory: Memory, text: str) -> None:
    memory.ingest("heavy", text, origin=USER, chunker=lambda text: [text], title="heavyweight")
    assert [hit.chunk.text for hit in memory.search("heavyweight")] == [text]


# reading


SEARCHES: list[dict[str, Any]] = [
    *({"limit": bad} for bad in (None, "10", 1.0, b"1", [1], True, float("nan"))),
    *({"neighbours": bad} for bad in (None, "1", 1.5, True)),
    *({"phrases": bad} for bad in (None, CANARY, b"a", 7, [7], [None], [b"a"])),
    *({"min_trust": bad} for bad in ("user", 5, True, Origin(Trust.USER), Trust)),
    *({"sources": bad} for bad in (CANARY, b"a", 7, [7], [None], [b"a"])),
    *({name: bad} for name in ("known_at", "since", "until") for bad in (CANARY, 7, b"a", [])),
    *({name: datetime(2026, 1, 1)} for name in ("known_at", "since", "until")),
    *({"since": bad} for bad in ("2026-01-01", "2026-01-01T00:00:00", f"{CANARY}\ud800", "\x00")),
    *({"metadata": bad} for bad in (CANARY, 7, [CANARY], {7: 1}, {"a": object()}, {"a\x00": 1})),
]
TOO_MUCH: list[dict[str, Any]] = [
    *({"limit": bad} for bad in (0, -1, 101, 10**100)),
    *({"neighbours": bad} for bad in (-1, 11, 10**100)),
    *({"phrases": bad} for bad in (["a"] * 11, ["a" * 1001], (str(n) for n in count()))),
    *({"sources": bad} for bad in (["a"] * 101, ["a" * 513], (str(n) for n in count()))),
]


@cases("options", SEARCHES)
def test_search_options_of_the_wrong_kinds_are_refused(
    memory: Memory, options: dict[str, Any]
) -> None:
    refused(memory, InvalidInput, lambda: memory.search("text", **options))


@cases("options", TOO_MUCH)
def test_search_options_beyond_their_limits_are_refused(
    memory: Memory, options: dict[str, Any]
) -> None:
    refused(memory, LimitExceeded, lambda: memory.search("text", **options))


@cases("bad", NO_TEXT)
def test_a_query_that_is_no_text_is_refused(memory: Memory, bad: Any) -> None:
    refused(memory, InvalidInput, lambda: memory.search(bad))


def test_what_is_no_scope_opens_no_memory() -> None:
    for bad in ("acme", None, 7, {"tenant": "acme"}, ("acme",), Scope):
        with pytest.raises(PrismGraphError):
            Memory(bad)  # type: ignore[arg-type]


# keys that are not there, or are something else


def test_refusals_name_neither_key_nor_text(memory: Memory) -> None:
    memory.ingest(CANARY, CANARY, origin=USER)
    refused(memory, SourceKindMismatch, lambda: memory.record(CANARY, CANARY, origin=USER))
    refused(memory, SourceNotFound, lambda: memory.retire_source(f"not {CANARY}"))


@pytest.mark.parametrize("number", [1e16, -1e23, 1e308])
def test_metadata_refuses_floats_that_come_back_as_integers(number: float) -> None:
    with pytest.raises(InvalidMetadata):
        Memory(Scope("acme")).ingest("doc", "text", origin=USER, metadata={"n": [number]})


@pytest.mark.parametrize("number", [0.1, 5.0, 1e15, 1.5e-300, 123456.789])
def test_metadata_gives_floats_back_as_they_were(number: float) -> None:
    memory = Memory(Scope("acme"))
    memory.ingest("doc", "text", origin=USER, metadata={"n": number})
    found = memory.sources()[0].metadata["n"]
    assert (found, type(found)) == (number, float)
    assert len(memory.search("text", metadata={"n": number})) == 1
