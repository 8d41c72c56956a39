"""Memory: the long-term memory of one scope."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from datetime import datetime
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import router
from django.views.decorators.debug import sensitive_variables

from prism_graph import embedding, erase, erase_scope, facts, ingest, reading, search
from prism_graph.errors import InvalidScope
from prism_graph.ledger import Claim
from prism_graph.models import Chunk
from prism_graph.options import Options
from prism_graph.receipts import Order
from prism_graph.records import (
    ChunkView,
    ErasureReport,
    FactView,
    FailedEmbedding,
    Hit,
    IngestReport,
    SourceView,
)
from prism_graph.scope import Scope
from prism_graph.trust import Origin, Trust

P = ParamSpec("P")
R = TypeVar("R")


def _twin(
    method: Callable[Concatenate[Memory, P], R],
) -> Callable[Concatenate[Memory, P], Coroutine[Any, Any, R]]:
    """Return an async method that runs the named one in Django's database thread."""
    name = method.__name__

    @wraps(method)
    async def twin(self: Memory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        # Looked up by name, so that what a subclass overrides has its twin as well.
        result: R = await sync_to_async(getattr(self, name))(*args, **kwargs)
        return result

    twin.__name__ = f"a{name}"
    twin.__qualname__ = f"Memory.a{name}"
    return twin


class Memory:
    """Read and write the memory of one scope, in the database `using` (the router's by default).

    Reads see the scope and every level above it; writes land at exactly the scope. Whatever is refused
    raises a PrismGraphError, writes nothing, and leaves the caller's transaction usable. A write holds the
    scope's lock until the caller's transaction ends. Every method has an async twin: `asearch` for `search`.
    """

    def __init__(self, scope: Scope, using: str | None = None) -> None:
        if not isinstance(scope, Scope):
            raise InvalidScope("Memory needs a prism_graph.Scope.")
        self._scope = scope
        self._using = using or router.db_for_write(Chunk)

    def __repr__(self) -> str:
        return f"Memory({self._scope!r})"

    @property
    def scope(self) -> Scope:
        """The scope this memory is bound to."""
        return self._scope

    @sensitive_variables()
    def ingest(
        self,
        key: str,
        text: str,
        *,
        origin: Origin,
        uri: str = "",
        title: str = "",
        chunker: Any = None,
        metadata: Mapping[str, Any] | None = None,
        derived_from: Iterable[Any] = (),
    ) -> IngestReport:
        """Store a document under the app's own key, or bring the stored one in step with this text.

        `key` has up to 512 characters, `text` up to MAX_TEXT bytes. `chunker` cuts the text (CHUNKER by
        default). `derived_from` names up to 50 visible chunks by id, chunk or hit: trust is then the least
        of theirs and the origin's. Unchanged chunks keep their ids; the same text under another trust,
        writer or lineage is a new chunk. Raises InvalidInput and its kinds, InvalidChunking,
        SourceKindMismatch for a conversation's key, WriteConflict.
        """
        return ingest.ingest(
            self._scope,
            self._using,
            key,
            text,
            origin=origin,
            uri=uri,
            title=title,
            chunker=chunker,
            metadata=metadata,
            derived_from=derived_from,
        )

    @sensitive_variables()
    def record(
        self,
        conversation: str,
        text: str,
        *,
        origin: Origin,
        speaker: str = "",
        turn_id: str | None = None,
        occurred_at: datetime | str | None = None,
        derived_from: Iterable[Any] = (),
    ) -> IngestReport:
        """Append a turn to a conversation; the same `turn_id` twice stores it once, as first given.

        A turn longer than a chunk is cut. Without `turn_id` it gets a random one. `occurred_at` is aware, or
        ISO 8601 with an offset. Raises as `ingest` does.
        """
        return ingest.record(
            self._scope,
            self._using,
            conversation,
            text,
            origin=origin,
            speaker=speaker,
            turn_id=turn_id,
            occurred_at=occurred_at,
            derived_from=derived_from,
        )

    @sensitive_variables()
    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        known_at: datetime | str | None = None,
        phrases: Iterable[str] = (),
        min_trust: Trust | None = None,
        sources: Iterable[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        neighbours: int = 0,
        explain: bool = False,
    ) -> list[Hit]:
        """Return the passages that best match a query, best first: by words, and by meaning with VECTORS.

        The query is data: no character in it is an operator, and none makes it fail. Any word may match;
        rarer ones weigh more. `limit` is 1 to 100. `known_at` searches what memory held at that instant.
        `phrases` must all stand in the passage, letter case and accents aside. `min_trust` leaves out what
        ranks lower. `sources` are keys. `since` and `until` bound when a passage occurred, or was recorded
        if that is not known: [since, until). `metadata` compares members of a source's metadata; a list
        means any of. `neighbours` (0 to 10) adds that many passages on each side to every hit. `explain`
        fills Hit.explain. Raises InvalidInput for options of the wrong kind, LimitExceeded beyond limits.
        """
        return search.search(
            self._scope,
            self._using,
            query,
            Options.checked(
                limit=limit,
                known_at=known_at,
                phrases=phrases,
                min_trust=min_trust,
                sources=sources,
                since=since,
                until=until,
                metadata=metadata,
                neighbours=neighbours,
                explain=explain,
            ),
        )

    @sensitive_variables()
    def get(self, ids: Iterable[Any]) -> list[ChunkView]:
        """Return visible chunks by id, retired ones included, in the order asked for.

        Ids that name nothing visible are absent. Raises LimitExceeded above 100 ids.
        """
        return reading.get(self._scope, self._using, ids)

    @sensitive_variables()
    def sources(self, *, retired: bool = False) -> list[SourceView]:
        """Return the visible sources, nearest scope first, then by key; retired ones if asked for."""
        return reading.sources(self._scope, self._using, retired)

    @sensitive_variables()
    def retire_source(self, key: str) -> IngestReport:
        """Take a source of exactly this scope out of search; its chunks stay readable by id.

        Raises SourceNotFound.
        """
        return ingest.retire_source(self._scope, self._using, key)

    # vectors

    @sensitive_variables()
    def pending(self) -> int:
        """Return how many chunks of exactly this scope wait for their vectors; none without VECTORS.

        They are found by their words meanwhile. Those that failed are not counted.
        """
        return embedding.pending(self._scope, self._using)

    @sensitive_variables()
    def failed(self) -> list[FailedEmbedding]:
        """Return the chunks of exactly this scope for which the embedder gave no vector, and why not."""
        return embedding.failed(self._scope, self._using)

    @sensitive_variables()
    def embed_pending(self, *, retry: bool = False) -> int:
        """Make the vectors that exactly this scope waits for, now; return how many.

        What failed before is tried again with `retry`. Raises EmbedderUnavailable when the embedder cannot be
        reached, EmbeddingSpaceMismatch when it is not the one that this tenant's vectors were made by.
        """
        return embedding.embed(self._scope, self._using, retry=retry).made

    # facts

    @sensitive_variables()
    def assert_fact(
        self,
        key: str,
        *,
        subject: str,
        predicate: str,
        value: str,
        evidence: Iterable[Any],
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
    ) -> FactView:
        """State a fact under the app's own key, resting on 1 to 50 chunks named by id, chunk or hit.

        It holds in [valid_from, valid_to): from now by default, without an end by default. The policy makes
        it accepted, a belief or a proposal by the trust of what it cites. `key`, `subject` and `predicate`
        have 1 to 512 characters, `value` up to 8 KB. Raises FactConflict when it is accepted and an accepted
        version holds at any instant of it; InvalidEvidence when a chunk is not visible, or retired;
        InvalidInput and its kinds; WriteConflict.
        """
        claim = Claim.checked(subject, predicate, value, valid_from, valid_to)
        return facts.assert_fact(self._scope, self._using, key, claim, evidence)

    @sensitive_variables()
    def supersede(
        self,
        key: str,
        *,
        subject: str,
        predicate: str,
        value: str,
        evidence: Iterable[Any],
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        expected: int | None = None,
        actor: str = "",
        reason: str = "",
    ) -> FactView:
        """State what a fact of exactly this scope has become, as one more version.

        A start in the past fills history up to the next version's. `expected` is the number of the newest
        accepted version that the caller knows of. Raises FactNotFound; FactConflict when another came
        between; SupersedeRefused when a version is accepted and the policy does not accept this one; else
        as `assert_fact` does.
        """
        claim = Claim.checked(subject, predicate, value, valid_from, valid_to)
        return facts.supersede(
            self._scope,
            self._using,
            key,
            claim,
            evidence,
            expected=expected,
            actor=actor,
            reason=reason,
        )

    @sensitive_variables()
    def retract(
        self, key: str, *, version: int | None = None, actor: str = "", reason: str = ""
    ) -> FactView:
        """Take a version back because it was wrong; the one before it holds again up to the next.

        Without `version`: the one in force now, else the only one that is open. Raises FactNotFound,
        AmbiguousFact.
        """
        return facts.retract(
            self._scope, self._using, key, version=version, actor=actor, reason=reason
        )

    @sensitive_variables()
    def accept(
        self,
        key: str,
        *,
        version: int | None = None,
        over: int | None = None,
        actor: str = "",
        reason: str = "",
    ) -> FactView:
        """Accept a belief or proposal, on the project's own authority. It keeps its own start.

        Without `version`: the only one that waits. `over` names the version in force when that is not the
        one contested. Raises FactNotFound, AmbiguousFact, FactConflict, and InvalidEvidence when some of its
        evidence was retired or erased since.
        """
        return facts.accept(
            self._scope, self._using, key, version=version, over=over, actor=actor, reason=reason
        )

    @sensitive_variables()
    def reject(
        self, key: str, *, version: int | None = None, actor: str = "", reason: str = ""
    ) -> FactView:
        """Turn down a belief or proposal. Without `version`: the only one that waits.

        Raises FactNotFound, AmbiguousFact.
        """
        return facts.reject(
            self._scope, self._using, key, version=version, actor=actor, reason=reason
        )

    @sensitive_variables()
    def facts(
        self,
        subject: str | None = None,
        *,
        predicate: str | None = None,
        at: datetime | str | None = None,
        known_at: datetime | str | None = None,
        unaccepted: bool = False,
    ) -> list[FactView]:
        """Return what is in force here and above, nearest scope first, then by key.

        `at` is when it was true: `known_at` by default, else now. `known_at` is what memory held then: now by
        default. `unaccepted` adds beliefs and proposals; look at `status` before you rely on one.
        """
        return facts.facts(
            self._scope,
            self._using,
            subject,
            predicate=predicate,
            at=at,
            known_at=known_at,
            unaccepted=unaccepted,
        )

    @sensitive_variables()
    def fact(
        self,
        key: str,
        *,
        at: datetime | str | None = None,
        known_at: datetime | str | None = None,
        unaccepted: bool = False,
    ) -> FactView:
        """Return the version of a key that is in force, of the nearest scope that has one.

        With `unaccepted`, where none is in force, the newest belief or proposal. Raises FactNotFound.
        """
        return facts.fact(
            self._scope, self._using, key, at=at, known_at=known_at, unaccepted=unaccepted
        )

    @sensitive_variables()
    def timeline(
        self,
        subject: str,
        *,
        predicate: str | None = None,
        known_at: datetime | str | None = None,
    ) -> list[FactView]:
        """Return every version about a subject, whatever its status, in order of its start."""
        return facts.timeline(
            self._scope, self._using, subject, predicate=predicate, known_at=known_at
        )

    # erasure

    @sensitive_variables()
    def erase(self, key: str, *, actor: str = "", reason: str = "") -> ErasureReport:
        """Erase a source of exactly this scope and everything that rests on it, for good.

        Text derived from it goes, at whatever level below. A fact loses what it cited: with no evidence left
        it goes, else it is judged again and keeps the lower status. Counts are of this scope. A receipt
        without content stays. Erasing what is not there gives zeros and writes nothing.
        """
        return erase.erase(self._scope, self._using, key, Order.by(actor, reason)).told

    @sensitive_variables()
    def erase_turn(
        self, conversation: str, turn_id: str, *, actor: str = "", reason: str = ""
    ) -> ErasureReport:
        """Erase one turn of a conversation and everything that rests on it, as `erase` does."""
        order = Order.by(actor, reason)
        return erase.erase_turn(self._scope, self._using, conversation, turn_id, order).told

    @sensitive_variables()
    def erase_fact(
        self, key: str, version: int | None = None, *, actor: str = "", reason: str = ""
    ) -> ErasureReport:
        """Erase a fact of exactly this scope, or one version of it, for good; its evidence stays."""
        order = Order.by(actor, reason)
        return erase.erase_fact(self._scope, self._using, key, version, order).told

    @sensitive_variables()
    def erase_everything(
        self, *, include_owners: bool = False, actor: str = "", reason: str = ""
    ) -> ErasureReport:
        """Erase all that memory holds of this scope and of every scope below it, for good.

        Of a tenant only with `include_owners=True`, else it raises InvalidInput. Chunks are counted over all
        of these scopes, facts in this one. Receipts stay.
        """
        order = Order.by(actor, reason)
        done = erase_scope.erase_everything(self._scope, self._using, include_owners, order)
        return done.told

    # Each runs in Django's database thread, so the event loop goes on meanwhile.
    aingest = _twin(ingest)
    arecord = _twin(record)
    asearch = _twin(search)
    aget = _twin(get)
    asources = _twin(sources)
    aretire_source = _twin(retire_source)
    apending = _twin(pending)
    afailed = _twin(failed)
    aembed_pending = _twin(embed_pending)
    aassert_fact = _twin(assert_fact)
    asupersede = _twin(supersede)
    aretract = _twin(retract)
    aaccept = _twin(accept)
    areject = _twin(reject)
    afacts = _twin(facts)
    afact = _twin(fact)
    atimeline = _twin(timeline)
    aerase = _twin(erase)
    aerase_turn = _twin(erase_turn)
    aerase_fact = _twin(erase_fact)
    aerase_everything = _twin(erase_everything)
