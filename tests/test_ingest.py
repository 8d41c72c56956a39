from __future__ import annotations

import enum
from collections.abc import Sequence

import pytest
from django.utils.safestring import mark_safe

from prism_graph import Memory, Origin, Scope, Trust
from prism_graph.chunking import Piece, PlainTextChunker, WholeChunker
from prism_graph.errors import SourceKindMismatch, SourceNotFound
from prism_graph.models import Chunk
from prism_graph.records import ChunkView
from prism_graph.repair import problems

pytestmark = pytest.mark.django_db

ACME = Scope("acme")
USER = Origin(Trust.USER, writer="user:7")
DOCUMENT = Origin(Trust.DOCUMENT, writer="importer")
GUIDE = """# Guide

Alpha starts the engine.

## Install

Beta copies the files.

## Remove

Gamma deletes them.
"""


class ByLine:
    """Cut after every line; the heading is the last line that began with `#`."""

    def split(self, text: str) -> list[Piece]:
        pieces, start, heading = [], 0, ""
        for line in text.splitlines(keepends=True):
            heading = line.strip("# \n") if line.startswith("#") else heading
            pieces.append(Piece(start, start + len(line), heading))
            start += len(line)
        return pieces


@pytest.fixture
def memory() -> Memory:
    return Memory(ACME)


def passages(memory: Memory, key: str = "guide", *, live: bool = True) -> list[ChunkView]:
    rows = Chunk.objects.at(memory.scope).filter(source__key=key).order_by("ordinal", "recorded_at")
    rows = rows.filter(retired_at=None) if live else rows
    return memory.get(rows.values_list("id", flat=True))


def texts(chunks: Sequence[ChunkView]) -> list[str]:
    return [chunk.text for chunk in chunks]


def found(memory: Memory, query: str) -> list[str]:
    return [hit.chunk.id for hit in memory.search(query)]


# verbatim


@pytest.mark.parametrize(
    "text",
    [
        GUIDE,
        "one line, no newline",
        "\r\n# Windows\r\n\r\nA line.\r\n\x0cA form feed.\r\n",
        "```\nan unclosed fence\n" + "x = 1\n" * 900,
        "---\ntitle: front matter\n---\nBody.\n",
        "日本語の文。" * 900,
        "\ufeffa byte order mark, e\u0301 and \u202e bidi \U000e0041 tags \x1b[2J",
        " \n\t\n ",
        "z" * 70_000,
    ],
)
def test_the_chunks_of_a_document_are_slices_of_it_and_cover_it(memory: Memory, text: str) -> None:
    report = memory.ingest("guide", text, origin=DOCUMENT)
    chunks = passages(memory)
    assert "".join(texts(chunks)) == text
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert report.added == [chunk.id for chunk in chunks]
    assert (report.kept, report.retired) == ([], [])


def test_a_chunk_says_where_it_stands_and_who_wrote_it(memory: Memory) -> None:
    report = memory.ingest(
        "guide", GUIDE, origin=DOCUMENT, chunker=PlainTextChunker(30), metadata={"lang": "en"}
    )
    chunk = next(chunk for chunk in memory.get(report.added) if "Beta" in chunk.text)
    assert chunk.lines == (7, 8)
    assert GUIDE.splitlines()[chunk.lines[0] - 1] == "Beta copies the files."
    assert (chunk.source_key, chunk.trust, chunk.origin_trust, chunk.writer) == (
        *("guide", Trust.DOCUMENT, Trust.DOCUMENT, "importer"),
    )
    assert (chunk.speaker, chunk.turn_id, chunk.occurred_at, chunk.retired_at) == (
        *("", "", None, None),
    )
    assert chunk.metadata == {"lang": "en"}
    assert chunk.scope == ACME
    assert len(chunk.id) <= 26
    assert chunk.recorded_at.utcoffset() is not None


def test_headings_come_from_the_chunker(memory: Memory) -> None:
    memory.ingest("guide", GUIDE, origin=DOCUMENT)
    assert {c.heading for c in passages(memory)} == {"Guide", "Guide › Install", "Guide › Remove"}


def test_an_empty_document_is_a_source_without_chunks(memory: Memory) -> None:
    report = memory.ingest("guide", "", origin=DOCUMENT)
    assert (report.added, report.kept, report.retired) == ([], [], [])
    assert [source.id for source in memory.sources()] == [report.source]


def test_a_subclass_of_str_is_stored_as_the_text_it_is(memory: Memory) -> None:
    class Loud(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "LOUD"

        def __len__(self) -> int:
            return 1

        def __getitem__(self, _: object) -> str:
            return "X"

        def encode(self, *_: object, **__: object) -> bytes:
            return b"same"

    class Colour(str, enum.Enum):  # noqa: UP042 - as projects wrote it before StrEnum
        RED = "red"

    memory.ingest(Loud("guide"), Loud("quiet words"), origin=USER, metadata={"c": Colour.RED})
    memory.ingest(Loud("other"), mark_safe("<b>safe</b>"), origin=USER, title=Colour.RED)
    assert texts(passages(memory)) == ["quiet words"]
    assert texts(passages(memory, "other")) == ["<b>safe</b>"]
    assert {source.key: source.metadata for source in memory.sources()} == {
        "guide": {"c": "red"},
        "other": {},
    }
    assert {source.title for source in memory.sources()} == {"", "red"}


def test_a_source_keeps_what_the_document_says_of_itself(memory: Memory) -> None:
    metadata = {"a": [1, {"b": None, "c": 1.5}], "é": "日本", "big": 2**63 - 1, "t": True}
    memory.ingest(
        "guide", "text", origin=USER, uri="https://x/ü", title="Guide ‮", metadata=metadata
    )
    (source,) = memory.sources()
    assert (source.key, source.kind, source.uri, source.title) == (
        *("guide", "document", "https://x/ü", "Guide ‮"),
    )
    assert (source.trust, source.writer, source.metadata) == (Trust.USER, "user:7", metadata)


# again


def test_the_same_document_again_changes_nothing(memory: Memory) -> None:
    first = memory.ingest("guide", GUIDE, origin=DOCUMENT)
    second = memory.ingest("guide", GUIDE, origin=DOCUMENT)
    assert second.source == first.source
    assert (second.added, second.kept, second.retired) == ([], first.added, [])


def test_a_changed_document_keeps_adds_and_retires(memory: Memory) -> None:
    first = memory.ingest("guide", "alpha\nbeta\ngamma\n", origin=USER, chunker=ByLine())
    second = memory.ingest("guide", "alpha\ndelta\ngamma\n", origin=USER, chunker=ByLine())
    assert second.kept == [first.added[0], first.added[2]]
    assert second.retired == [first.added[1]]
    assert texts(memory.get(second.added)) == ["delta\n"]
    assert texts(passages(memory)) == ["alpha\n", "delta\n", "gamma\n"]
    assert found(memory, "beta") == []
    assert found(memory, "delta") == second.added
    (old,) = memory.get(second.retired)
    assert old.text == "beta\n"
    assert old.retired_at == memory.get(second.added)[0].recorded_at


def test_equal_chunks_are_told_apart_by_their_number(memory: Memory) -> None:
    first = memory.ingest("guide", "same\n" * 3 + "last\n", origin=USER, chunker=ByLine())
    fewer = memory.ingest("guide", "same\n" * 2 + "last\n", origin=USER, chunker=ByLine())
    assert fewer.kept == [*first.added[:2], first.added[3]]
    assert fewer.retired == [first.added[2]]
    more = memory.ingest("guide", "same\n" * 4 + "last\n", origin=USER, chunker=ByLine())
    assert more.kept == [*first.added[:2], first.added[3]]
    assert len(set(more.added)) == 2
    assert not set(more.added) & set(first.added)
    assert texts(passages(memory)) == ["same\n"] * 4 + ["last\n"]


def test_moved_chunks_keep_their_ids_and_stand_at_their_new_place(memory: Memory) -> None:
    first = memory.ingest("guide", "alpha\nbeta\ngamma\n", origin=USER, chunker=ByLine())
    second = memory.ingest("guide", "gamma\nnew\nalpha\nbeta\n", origin=USER, chunker=ByLine())
    assert second.retired == []
    places = {chunk.id: (chunk.ordinal, chunk.lines) for chunk in passages(memory)}
    assert [places[each] for each in first.added] == [(2, (3, 3)), (3, (4, 4)), (0, (1, 1))]
    assert texts(passages(memory)) == ["gamma\n", "new\n", "alpha\n", "beta\n"]


def test_a_new_heading_keeps_the_chunk_and_replaces_the_words_it_is_found_by(
    memory: Memory,
) -> None:
    first = memory.ingest("guide", "# Install\nbody\n", origin=USER, chunker=ByLine())
    second = memory.ingest("guide", "# Remove\nbody\n", origin=USER, chunker=ByLine())
    body = first.added[1]
    assert second.kept == [body]
    assert memory.get([body])[0].heading == "Remove"
    assert body in found(memory, "remove")
    assert found(memory, "install") == []


def test_a_new_title_keeps_the_chunks_and_replaces_the_words_they_are_found_by(
    memory: Memory,
) -> None:
    first = memory.ingest("guide", "alpha\nbeta\n", origin=USER, chunker=ByLine(), title="Manual")
    assert sorted(found(memory, "manual")) == sorted(first.added)
    second = memory.ingest(
        "guide", "alpha\nbeta\n", origin=USER, chunker=ByLine(), title="Handbook"
    )
    assert second.kept == first.added
    assert found(memory, "manual") == []
    assert sorted(found(memory, "handbook")) == sorted(first.added)
    third = memory.ingest("guide", "alpha\nbeta\n", origin=USER, chunker=ByLine())
    assert third.kept == first.added
    assert found(memory, "handbook") == []


def test_a_new_title_leaves_the_index_as_a_repair_would_make_it(memory: Memory) -> None:
    memory.ingest("guide", "alpha\nbeta\n", origin=USER, chunker=ByLine(), title="Manual")
    memory.ingest("guide", "beta\ngamma\n", origin=USER, chunker=ByLine(), title="Handbook")
    assert list(problems("default")) == []


def test_text_that_returns_is_a_new_chunk(memory: Memory) -> None:
    first = memory.ingest("guide", "alpha\nbeta\n", origin=USER, chunker=ByLine())
    memory.ingest("guide", "alpha\n", origin=USER, chunker=ByLine())
    third = memory.ingest("guide", "alpha\nbeta\n", origin=USER, chunker=ByLine())
    assert third.kept == first.added[:1]
    assert len(third.added) == 1
    assert third.added != first.added[1:]
    assert found(memory, "beta") == third.added


@pytest.mark.parametrize(
    "origin",
    [
        Origin(Trust.TOOL, "importer"),
        Origin(Trust.DOCUMENT, "someone else"),
        Origin(Trust.USER, "importer"),
    ],
)
def test_the_same_text_of_another_trust_or_writer_is_a_new_chunk(
    memory: Memory, origin: Origin
) -> None:
    first = memory.ingest("guide", "alpha\nbeta\n", origin=DOCUMENT, chunker=ByLine())
    second = memory.ingest("guide", "alpha\nbeta\n", origin=origin, chunker=ByLine())
    assert second.kept == []
    assert second.retired == first.added
    assert found(memory, "alpha") == second.added[:1]
    assert {(c.trust, c.writer) for c in memory.get(second.added)} == {
        (origin.trust, origin.writer)
    }
    assert {(c.trust, c.writer) for c in memory.get(first.added)} == {(Trust.DOCUMENT, "importer")}
    assert memory.sources()[0].writer == origin.writer


def test_the_same_text_of_another_lineage_is_a_new_chunk(memory: Memory) -> None:
    cited = memory.ingest("cited", "one\ntwo\n", origin=USER, chunker=ByLine()).added
    reports = [
        memory.ingest("guide", "alpha\n", origin=USER, derived_from=lineage)
        for lineage in ([], cited[:1], cited, cited[::-1], cited[1:], [])
    ]
    kept = [bool(report.kept) for report in reports]
    assert kept == [False, False, False, True, False, False]
    assert all(len(each.retired) == 1 for each in reports[1:3])
    assert found(memory, "alpha") == reports[-1].added


def test_a_document_can_grow_shrink_and_become_empty(memory: Memory) -> None:
    many = "".join(f"line {number}\n" for number in range(700))
    first = memory.ingest("guide", many, origin=USER, chunker=ByLine())
    assert len(first.added) == 700
    second = memory.ingest("guide", many[: len(many) // 2], origin=USER, chunker=ByLine())
    assert "".join(texts(sum_of(memory, second.kept + second.added))) == many[: len(many) // 2]
    third = memory.ingest("guide", "", origin=USER)
    assert len(third.retired) == len(second.kept) + len(second.added)
    assert found(memory, "line") == []
    assert len(memory.sources()) == 1


def sum_of(memory: Memory, ids: Sequence[str]) -> list[ChunkView]:
    return [view for at in range(0, len(ids), 100) for view in memory.get(ids[at : at + 100])]


def test_a_function_cuts_as_well_as_a_chunker(memory: Memory) -> None:
    report = memory.ingest("guide", "a\nb\n", origin=USER, chunker=lambda text: ["a\n", "b\n"])
    assert texts(memory.get(report.added)) == ["a\n", "b\n"]


# keys


def test_a_key_belongs_to_its_scope() -> None:
    scopes = [ACME, Scope("acme", "u1"), Scope("acme", "u2"), Scope("other")]
    sources = {Memory(scope).ingest("doc-1", f"of {scope}", origin=USER).source for scope in scopes}
    assert len(sources) == 4
    Memory(scopes[1]).ingest("doc-1", "changed", origin=USER)
    assert texts(passages(Memory(scopes[2]), "doc-1")) == [f"of {scopes[2]}"]


@pytest.mark.parametrize(
    "key", ["a", "A", "a ", " a", "é", "e\u0301", "a\u200b", "a%", "a_", "a\nb"]
)
def test_keys_are_compared_byte_for_byte(memory: Memory, key: str) -> None:
    others = ["b", "aa", "á"]
    for other in others:
        memory.ingest(other, "other", origin=USER)
    memory.ingest(key, "mine", origin=USER)
    assert texts(passages(memory, key)) == ["mine"]
    assert len(memory.sources()) == 4


def test_a_key_above_is_not_found_by_a_write_below() -> None:
    Memory(ACME).ingest("guide", "above", origin=USER)
    below = Memory(ACME.for_owner("u1"))
    with pytest.raises(SourceNotFound):
        below.retire_source("guide")
    assert below.erase("guide").source_found is False
    below.ingest("guide", "below", origin=USER)
    assert texts(passages(Memory(ACME))) == ["above"]
    assert [source.scope for source in below.sources()] == [below.scope, ACME]


def test_a_key_is_a_document_or_a_conversation_never_both(memory: Memory) -> None:
    memory.ingest("doc", "text", origin=USER)
    memory.record("chat", "text", origin=USER)
    with pytest.raises(SourceKindMismatch):
        memory.record("doc", "text", origin=USER)
    with pytest.raises(SourceKindMismatch):
        memory.ingest("chat", "text", origin=USER)
    memory.retire_source("doc")
    with pytest.raises(SourceKindMismatch):
        memory.record("doc", "text", origin=USER)
    assert [source.kind for source in memory.sources(retired=True)] == ["conversation", "document"]
    memory.erase("doc")
    memory.record("doc", "text", origin=USER)


# retired


def test_a_retired_source_leaves_search_and_stays_readable_by_id(memory: Memory) -> None:
    added = memory.ingest("guide", GUIDE, origin=USER).added
    report = memory.retire_source("guide")
    assert report.retired == added
    assert found(memory, "alpha beta gamma") == []
    assert "".join(texts(memory.get(added))) == GUIDE
    assert {chunk.retired_at for chunk in memory.get(added)} != {None}
    assert memory.sources() == []
    assert [source.key for source in memory.sources(retired=True)] == ["guide"]


def test_retiring_twice_retires_nothing_more(memory: Memory) -> None:
    memory.ingest("guide", GUIDE, origin=USER)
    memory.retire_source("guide")
    before = memory.sources(retired=True)
    assert memory.retire_source("guide").retired == []
    assert memory.sources(retired=True) == before


def test_retiring_what_is_not_there_is_refused(memory: Memory) -> None:
    with pytest.raises(SourceNotFound):
        memory.retire_source("nothing")


def test_a_retired_source_that_is_ingested_again_has_new_chunks(memory: Memory) -> None:
    first = memory.ingest("guide", GUIDE, origin=USER)
    memory.retire_source("guide")
    again = memory.ingest("guide", GUIDE, origin=USER)
    assert again.source == first.source
    assert again.kept == []
    assert not set(again.added) & set(first.added)
    assert set(found(memory, "alpha")) <= set(again.added)
    assert memory.sources()[0].retired_at is None


def test_a_retired_conversation_that_is_continued_is_live_again(memory: Memory) -> None:
    first = memory.record("chat", "hello", origin=USER)
    assert memory.retire_source("chat").retired == first.added
    second = memory.record("chat", "hello again", origin=USER)
    assert found(memory, "hello") == second.added
    assert [source.key for source in memory.sources()] == ["chat"]
    assert memory.get(second.added)[0].ordinal == 1


def test_a_whole_chunker_refuses_before_anything_is_written(memory: Memory) -> None:
    from prism_graph.errors import LimitExceeded

    with pytest.raises(LimitExceeded):
        memory.ingest("guide", "x" * 70_000, origin=USER, chunker=WholeChunker())
    assert memory.sources() == []
