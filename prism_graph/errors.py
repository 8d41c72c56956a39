"""Everything this package refuses, as one exception tree.

The class docstring is the default message. Messages say what to do instead and never carry stored
text, ids of rows or names of other scopes.
"""

from __future__ import annotations


class PrismGraphError(Exception):
    """prism_graph refused the operation."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or " ".join((type(self).__doc__ or "").split()))


class InvalidScope(PrismGraphError, ValueError):
    """The scope is not valid: give tenant, owner, agent and thread as non-empty text, outermost first."""


class UnscopedQuery(PrismGraphError):
    """This query names no scope: read through objects.visible_to(scope), write through Memory.

    (dumpdata: --exclude the app of these models, prism_graph unless the project owns them.)
    """


class ReadOnlyDoor(PrismGraphError):
    """This queryset only reads: open Model.objects.at(scope) to write."""


class InvalidSettings(PrismGraphError):
    """The PRISM_GRAPH setting is not valid: run `manage.py check` for what to change."""


class InvalidInput(PrismGraphError, ValueError):
    """The value given is not one that memory can store."""


class InvalidText(InvalidInput):
    """The text holds a NUL or a lone surrogate: remove it before storing."""


class InvalidMetadata(InvalidInput):
    """Metadata must be a JSON object of at most 16 KB and 4 levels with text keys."""


class InvalidOrigin(InvalidInput):
    """The origin must be Origin(Trust.…, writer="…")."""


class InvalidEvidence(InvalidInput):
    """Every cited chunk must be visible from this scope, and for a fact neither retired nor erased."""


class LimitExceeded(InvalidInput):
    """The value is larger than memory accepts: split it or raise the limit in PRISM_GRAPH."""


class InvalidChunking(PrismGraphError):
    """The chunker did not return consecutive pieces that cover the whole text."""


class SourceNotFound(PrismGraphError, LookupError):
    """No source with this key exists at this scope."""


class SourceKindMismatch(PrismGraphError):
    """This key already names the other kind of source: a key is a document or a conversation, never both."""


class WriteConflict(PrismGraphError):
    """Another writer came between: run the whole transaction again."""


class DerivedTextRemains(PrismGraphError):
    """Text or facts rest on these rows: Memory.erase takes them along, a queryset does not."""


class FactNotFound(PrismGraphError, LookupError):
    """No fact with this key and version exists at this scope, or none that this applies to."""


class FactConflict(PrismGraphError):
    """Another accepted version holds then: call supersede, or name the version that you mean."""


class SupersedeRefused(PrismGraphError):
    """This evidence cannot take an accepted version's place: assert it, and let a person accept it."""


class AmbiguousFact(PrismGraphError):
    """Several versions are open: name one with version=."""


class StaleReview(PrismGraphError):
    """What this decision rests on has changed since the page was drawn: look again, then decide."""


class EmbeddingFailed(PrismGraphError):
    """The embedder made no vectors of these texts: embed them one by one to find which it refuses."""


class EmbedderUnavailable(EmbeddingFailed):
    """The embedder cannot be reached now: nothing is wrong with the texts, try again later."""


class InvalidVector(EmbeddingFailed):
    """The embedder returned what is no vector: see that model and dimensions are set as it answers."""


class EmbeddingSpaceMismatch(PrismGraphError):
    """Another embedder made these vectors: run `manage.py prism_graph_migrate_vectors`."""
