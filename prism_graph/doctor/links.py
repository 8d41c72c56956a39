"""Citations and derivations of chunks that are gone or out of sight, and facts that rest on nothing."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q

from prism_graph.bases.citing import CITED, upward_check
from prism_graph.bases.rows import SCOPE_RULE
from prism_graph.doctor.check import RowCheck
from prism_graph.doctor.parents import erase_wrong_chunks
from prism_graph.doctor.place import Place, same
from prism_graph.erase import EMPTY
from prism_graph.lost_evidence import forget, lose_links
from prism_graph.models import Chunk, Citation, Derivation, FactVersion
from prism_graph.records import ErasureReport
from prism_graph.scope import Scope
from prism_graph.signals import announce, fact_erased

UPWARD: Final = Q(upward_check("").condition)


class BrokenLink(RowCheck):
    """Look for links whose cited chunk is gone, or stands where the citing row cannot see it."""

    def __init__(self, *, elsewhere: bool) -> None:
        self.elsewhere = elsewhere
        if elsewhere:
            self.id = "scope-disagrees"
        where = "stands out of its sight" if elsewhere else "is gone"
        self.what = f"{self.model._meta.verbose_name}: the chunk it names {where}"

    def wrong(self, place: Place) -> Any:
        """Return links that lead to no visible chunk."""
        cited = place.every(Chunk).filter(
            tenant=OuterRef("tenant"),
            **{name.removeprefix("cited_"): OuterRef(name) for name in (*CITED, "cited_number")},
        )
        somewhere = Exists(place.every(Chunk).filter(number=OuterRef("cited_number")))
        links = place.rows(self.model).filter(SCOPE_RULE, ~UPWARD | Q(~Exists(cited)))
        return links.filter(somewhere if self.elsewhere else ~somewhere)


class BrokenCitation(BrokenLink):
    """Take what is gone from the versions that cite it, as an erasure does."""

    id = "evidence-gone"
    model = Citation
    fix = "taken from its fact's version, which is judged again on what remains and never raised"

    def put_right(self, place: Place) -> None:
        """Lower what rested on the chunk, or erase what rests on nothing else."""

        def take(scope: Scope, at: datetime, rows: list[Any]) -> None:
            here = lose_links(place.using, scope, [tuple(row[1:]) for row in rows], at)
            links = place.at(Citation, scope).filter(pk__in=[row[0] for row in rows])
            links._raw_delete(place.using)
            place.receipt(scope, at, self.id, here, EMPTY)

        names = ("fact_number", "version", *CITED, "cited_number")
        place.by_scope(self.wrong(place), take, *names)


class BrokenDerivation(BrokenLink):
    """Erase what was derived from what is gone, as an erasure does."""

    id = "lineage-gone"
    model = Derivation
    fix = "erased: what was derived from erased text goes with it, and nothing tells its trust"

    def put_right(self, place: Place) -> None:
        """Erase the derived chunks."""
        links = self.wrong(place).filter(**same("number"))
        erase_wrong_chunks(place, self.id, place.rows(Chunk).filter(Exists(links)))


class NoEvidence(RowCheck):
    """Look for versions that cite nothing."""

    id = "no-evidence"
    model = FactVersion
    what = "fact version: without evidence"
    fix = "erased: a fact must cite something"

    def wrong(self, place: Place) -> Any:
        """Return versions without a citation."""
        links = place.every(Citation).filter(**same("fact_number", version="number"))
        return place.rows(FactVersion).filter(SCOPE_RULE, ~Exists(links))

    def put_right(self, place: Place) -> None:
        """Erase them, and the fact with its last version."""
        erase_versions(place, self.id, self.wrong(place))


def erase_versions(place: Place, check: str, wrong: Any) -> None:
    """Erase versions with their standings, leave a receipt, and announce it."""

    def erase(scope: Scope, at: datetime, rows: list[Any]) -> None:
        facts = sorted({number for _, number, _ in rows})
        forget(place.using, scope, [key for key, *_ in rows], facts)
        here = ErasureReport(True, facts_erased=len(rows))
        place.receipt(scope, at, check, here, EMPTY)
        for key, _, fact in rows:
            announce(fact_erased, FactVersion, scope, place.using, fact=fact, version=key)

    place.by_scope(wrong, erase, "fact_number", "fact__id")
