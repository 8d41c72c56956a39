"""What a reviewer sees of vectors: which passages got none, and why; never a vector."""

from __future__ import annotations

import pytest

from prism_graph import Memory
from prism_graph.models import Chunk, EmbeddingFailure
from tests.admin.reviewing import ACME, ANA, GLOBEX, USER, address, change, reviewer
from tests.admin.test_pages import text_of
from tests.rawsql import sql
from tests.vectors.doubles import UNFIT, Choosy, vectors

pytestmark = pytest.mark.django_db

LIST = address("embeddingfailure")


@pytest.fixture
def failing() -> EmbeddingFailure:
    """Store a passage of each kind in three scopes, and embed them; return Ana's failure."""
    for scope in (ANA, ACME, GLOBEX):
        memory = Memory(scope)
        memory.record("chat", "Sound.", origin=USER)
        memory.record("chat", f"An {UNFIT} zebra.", origin=USER)
        with vectors(Choosy()):
            memory.embed_pending()
            memory.embed_pending(retry=True)
        memory.record("chat", "Late.", origin=USER)
    return EmbeddingFailure.objects.at(ANA).get()


def chunk(text: str) -> Chunk:
    ((name,),) = sql(
        "SELECT c.id FROM $chunk c JOIN $chunktext t ON t.number = c.number "
        "WHERE t.text = %s AND c.owner = 'ana' AND c.tenant = 'acme'",
        text,
    )
    return Chunk.objects.at(ANA).get(pk=name)


def test_a_list_tells_attempts_reason_and_embedder_within_the_grant(failing) -> None:
    page = reviewer("owen").get(LIST)
    said = text_of(page)
    assert "2 EmbeddingFailed: The embedder choosy failed with ValueError. choosy/1/64" in said
    assert said.count("ValueError") == 1
    assert change(chunk(f"An {UNFIT} zebra.")) in page.content.decode()
    assert "zebra" not in said
    assert text_of(reviewer("carol").get(LIST)).count("ValueError") == 2


def test_a_page_tells_the_same_and_leads_to_the_passage(failing) -> None:
    page = reviewer("owen").get(change(failing))
    said = text_of(page)
    for words in ("Attempts 2", "ValueError", "choosy/1/64", "prism_graph_embed --retry"):
        assert words in said
    assert change(chunk(f"An {UNFIT} zebra.")) in page.content.decode()


def test_what_lies_outside_the_grant_is_not_there(failing) -> None:
    client = reviewer("gina")
    missing = client.get(change(failing).replace(failing.pk, "a" * 26))
    found = client.get(change(failing))
    assert (found.status_code, found.headers["Location"]) == (
        missing.status_code,
        missing.headers["Location"],
    )


def test_without_the_permission_neither_is_shown(failing) -> None:
    client = reviewer("owen", ("view_chunk",))
    assert client.get(LIST).status_code == 403
    assert client.get(change(failing)).status_code == 403


def test_nothing_can_be_written_there(failing) -> None:
    client = reviewer("owen", superuser=True)
    assert client.post(change(failing), {"attempts": "0"}).status_code == 405
    assert client.get(address("embeddingfailure", "add")).status_code == 403
    action = {"action": "delete_selected", "_selected_action": failing.pk, "index": "0"}
    client.post(LIST, action)
    assert EmbeddingFailure.objects.at(ANA).get().attempts == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Sound.", "Vector by choosy/1/64"),
        (f"An {UNFIT} zebra.", "Vector failed after 2 attempts"),
        ("Late.", "Vector waits for it"),
    ],
)
def test_a_passage_tells_what_became_of_its_vector(failing, text, shown) -> None:
    page = reviewer("owen").get(change(chunk(text)))
    assert shown in text_of(page)
    assert (change(failing) in page.content.decode()) == ("failed" in shown)


def test_without_vectors_a_passage_tells_nothing_of_them() -> None:
    row = Memory(ANA).record("chat", "Sound.", origin=USER).added[0]
    said = text_of(reviewer("owen").get(change(Chunk.objects.at(ANA).get(pk=row))))
    assert "Vector" not in said


def test_a_reason_of_an_embedders_own_is_shown_as_text(failing) -> None:
    sql("UPDATE $embeddingfailure SET reason = %s", "<b>bold</b>\u202e")
    client = reviewer("owen")
    for page in (LIST, change(failing)):
        body = client.get(page).content.decode()
        assert "<b>bold" not in body
        assert "\u202e" not in body
