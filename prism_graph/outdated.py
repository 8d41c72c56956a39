"""Vectors of texts that were changed since, which only raw SQL can do: finding them, taking them away."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.db.models import OuterRef, Subquery

from prism_graph import spaces
from prism_graph.indexing import spoken
from prism_graph.models import ChunkText, Embedding
from prism_graph.scope import COLUMNS, Scope
from prism_graph.writing import batches, digest

WHY: Final = "compare vectors with the texts that they were made of"


def outdated(rows: Any) -> Iterator[str]:
    """Yield the ids of those of these embeddings whose text is another one now."""
    here = {name: OuterRef(name) for name in (*COLUMNS, "number")}
    texts = ChunkText.objects.db_manager(rows.db).system(WHY).filter(**here)
    text, speaker = (Subquery(texts.values(name)[:1]) for name in ("text", "speaker"))
    # Compared here: no database computes the digest.
    said = rows.order_by().annotate(text=text, speaker=speaker)
    for key, of, text, speaker in said.values_list("pk", "of", "text", "speaker").iterator():
        if text is not None and of != digest(spoken(text, speaker)):
            yield key


def every(using: str) -> Any:
    """Return all embeddings of a database."""
    return Embedding.objects.db_manager(using).system(WHY)


def remove(using: str) -> int:
    """Take away every vector of a text that was changed, so that it is made anew; return how many."""
    count = 0
    for keys in batches(list(outdated(every(using)))):
        places: dict[Scope, list[tuple[str, int]]] = defaultdict(list)
        for key, number, *parts in (
            every(using).filter(pk__in=keys).values_list("pk", "number", *COLUMNS)
        ):
            places[Scope.from_columns(*parts)].append((key, number))
        for scope, rows in places.items():
            forget(using, scope, rows)
            count += len(rows)
    return count


def forget(using: str, scope: Scope, rows: Sequence[tuple[str, int]]) -> None:
    """Take vectors, as pairs of id and chunk number, out of a scope and its stores."""
    spaces.forget(using, scope, [number for _, number in rows])
    Embedding.objects.db_manager(using).at(scope).filter(pk__in=[key for key, _ in rows]).delete()
