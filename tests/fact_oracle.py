"""What facts must answer, said the slow way: a log of what happened, replayed for every question.

Nothing here is shared with the package but its values (scopes, trust classes, errors). A state is never
kept: `Oracle.world(known_at)` makes it anew from the log each time it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from prism_graph import FactStatus, Scope, Trust
from prism_graph.errors import (
    AmbiguousFact,
    FactConflict,
    FactNotFound,
    InvalidEvidence,
    InvalidInput,
    SupersedeRefused,
)

ACCEPTED: Final = FactStatus.ACCEPTED
BELIEF: Final = FactStatus.BELIEF
PROPOSAL: Final = FactStatus.PROPOSAL
REJECTED: Final = FactStatus.REJECTED
RETRACTED: Final = FactStatus.RETRACTED

UNDECIDED: Final = (BELIEF, PROPOSAL)
CLOSED: Final = (REJECTED, RETRACTED)
TRUSTED: Final = (Trust.USER, Trust.DOCUMENT)
WHY_LOWERED: Final = "evidence was erased"
FOREVER: Final = datetime.max.replace(tzinfo=UTC)


# what happened


@dataclass(frozen=True)
class Event:
    """Something that a scope's memory did at a recorded instant; alone: a write that changed nothing."""

    at: datetime
    scope: Scope


@dataclass(frozen=True)
class Ingested(Event):
    """A chunk was stored, with its effective trust."""

    chunk: str
    trust: Trust
    source: str
    turn: str
    parents: frozenset[str]


@dataclass(frozen=True)
class Retired(Event):
    chunk: str


@dataclass(frozen=True)
class Erased(Event):
    chunk: str


@dataclass(frozen=True)
class Stated(Event):
    """A version was recorded. It never changes; `at` is its `recorded_at`."""

    name: int
    key: str
    number: int
    subject: str
    predicate: str
    value: str
    valid_from: datetime
    valid_to: datetime | None
    cited: tuple[str, ...]
    contests: int | None

    @property
    def end(self) -> datetime:
        return self.valid_to or FOREVER


@dataclass(frozen=True)
class Decided(Event):
    """A version's standing ended and another began. `person`: an app decided, not the policy."""

    name: int
    status: FactStatus
    person: bool
    actor: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Lost(Event):
    """A version lost some of its evidence, not all."""

    name: int


@dataclass(frozen=True)
class Forgotten(Event):
    """A version was erased."""

    name: int


# what is asked


@dataclass(frozen=True)
class Answer:
    """A FactView without its random id; of the policy's name only whether there is one."""

    key: str
    version: int
    scope: Scope
    status: FactStatus
    subject: str
    predicate: str
    value: str
    valid_from: datetime
    valid_to: datetime | None
    stated_valid_to: datetime | None
    recorded_from: datetime
    recorded_to: datetime | None
    evidence: frozenset[tuple[str, Trust]]
    contests: int | None
    stale: bool
    shadowed: bool
    decided_by: str
    decided_at: datetime
    reason: str
    by_policy: bool


@dataclass(frozen=True)
class Erasure:
    """What an erasure removed from its own scope."""

    source_found: bool
    chunks: int = 0
    evidence_links: int = 0
    facts_erased: int = 0
    facts_kept: int = 0


# the rules


def judged(trusts: Sequence[Trust]) -> FactStatus:
    """Say what the default policy makes of evidence."""
    if all(trust in TRUSTED for trust in trusts):
        return ACCEPTED
    if all(trust is Trust.AGENT for trust in trusts):
        return BELIEF
    return PROPOSAL


def lower(status: FactStatus, other: FactStatus) -> FactStatus:
    rank = {ACCEPTED: 3, BELIEF: 2, PROPOSAL: 1, REJECTED: 0, RETRACTED: 0}
    return other if rank[other] < rank[status] else status


def overlap(one: tuple[datetime, datetime], other: tuple[datetime, datetime]) -> bool:
    """Say whether two half-open intervals share an instant."""
    return max(one[0], other[0]) < min(one[1], other[1])


@dataclass
class World:
    """What memory held at an instant, of what is not erased by now."""

    retired: set[str] = field(default_factory=set)
    versions: list[Stated] = field(default_factory=list)
    standing: dict[int, Decided] = field(default_factory=dict)

    def of(self, scope: Scope, key: str) -> list[Stated]:
        return [each for each in self.versions if (each.scope, each.key) == (scope, key)]

    def status(self, version: Stated) -> FactStatus:
        return self.standing[version.name].status

    def among(self, scope: Scope, key: str, *statuses: FactStatus) -> list[Stated]:
        return [each for each in self.of(scope, key) if self.status(each) in statuses]

    def held(self, scope: Scope, key: str) -> list[tuple[Stated, datetime, datetime]]:
        """Return the accepted versions in order, each with when it holds."""
        accepted = self.among(scope, key, ACCEPTED)
        accepted.sort(key=lambda each: (each.valid_from, each.number))
        starts = [each.valid_from for each in accepted]
        nexts = [*starts[1:], FOREVER]
        return [
            (each, each.valid_from, max(each.valid_from, min(each.end, following)))
            for each, following in zip(accepted, nexts, strict=False)
        ]

    def in_force(self, scope: Scope, key: str, at: datetime) -> Stated | None:
        holding = [each for each, start, end in self.held(scope, key) if start <= at < end]
        assert len(holding) <= 1
        return holding[0] if holding else None

    def overlapping(self, scope: Scope, key: str, start: datetime, end: datetime) -> list[Stated]:
        return [
            each
            for each, begin, until in self.held(scope, key)
            if overlap((begin, until), (start, end))
        ]

    def contested(
        self, scope: Scope, key: str, start: datetime, end: datetime, at: datetime
    ) -> Stated | None:
        """Return what a statement over [start, end) made at an instant speaks against."""
        probe = start if end <= at else max(start, at)
        now = self.in_force(scope, key, probe)
        return now or next(iter(self.overlapping(scope, key, start, end)), None)


AnyEvent = TypeVar("AnyEvent", bound=Event)


class Oracle:
    """Memory as the specification has it. `clock` is what the system's clock shows."""

    def __init__(self, clock: datetime) -> None:
        self.clock = clock
        self.log: list[Event] = []

    # the log

    def events(self, kind: type[AnyEvent]) -> Iterator[AnyEvent]:
        return (event for event in self.log if isinstance(event, kind))

    def last(self, scope: Scope) -> datetime | None:
        return max((event.at for event in self.log if event.scope == scope), default=None)

    def stamp(self, scope: Scope) -> datetime:
        """Return the recorded instant of a scope's next write."""
        last = self.last(scope)
        return self.clock if last is None else max(self.clock, last + timedelta(microseconds=1))

    def world(self, known_at: datetime | None = None) -> World:
        """Replay what was recorded by an instant, leaving out what has been erased since."""
        forgotten = {event.name for event in self.events(Forgotten)}
        world = World()
        for event in self.log:
            if known_at is not None and event.at > known_at:
                continue
            match event:
                case Retired():
                    world.retired.add(event.chunk)
                case Stated() if event.name not in forgotten:
                    world.versions.append(event)
                case Decided() if event.name not in forgotten:
                    world.standing[event.name] = event
        return world

    def chunks(self) -> dict[str, Ingested]:
        """Return every chunk that is not erased."""
        erased = {event.chunk for event in self.events(Erased)}
        return {each.chunk: each for each in self.events(Ingested) if each.chunk not in erased}

    def next_number(self, scope: Scope, key: str) -> int:
        """Count on while the fact has any version left, else from 1."""
        number, left = 0, set()
        for event in self.log:
            if isinstance(event, Stated) and (event.scope, event.key) == (scope, key):
                number = event.number
                left.add(event.name)
            elif isinstance(event, Forgotten) and event.name in left:
                left.remove(event.name)
                number = number if left else 0
        return number + 1

    # evidence

    def ingested(
        self,
        scope: Scope,
        source: str,
        trust: Trust,
        *,
        parents: Iterable[str] = (),
        turn: str = "",
        added: Iterable[str] = (),
        retired: Iterable[str] = (),
    ) -> None:
        """Take down what an ingest, a record or a retire_source reported."""
        at, chunks, parents = self.stamp(scope), self.chunks(), frozenset(parents)
        effective = min([trust, *(chunks[each].trust for each in parents)], key=lambda t: t.level)
        self.log.append(Event(at, scope))
        self.log += [Retired(at, scope, each) for each in retired]
        self.log += [Ingested(at, scope, each, effective, source, turn, parents) for each in added]

    def ingests(self) -> list[Ingested]:
        return list(self.events(Ingested))

    def usable(self, scope: Scope) -> list[str]:
        """Return the chunks that a fact of this scope may cite."""
        retired = self.world().retired
        return [
            name
            for name, chunk in self.chunks().items()
            if chunk.scope in scope.chain and name not in retired
        ]

    def trusts(self, scope: Scope, evidence: Sequence[str]) -> list[Trust]:
        usable, chunks = self.usable(scope), self.chunks()
        if not evidence or not set(evidence) <= set(usable):
            raise InvalidEvidence
        return [chunks[each].trust for each in evidence]

    # writing

    def assert_fact(
        self,
        scope: Scope,
        key: str,
        *,
        subject: str,
        predicate: str,
        value: str,
        evidence: Sequence[str],
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
    ) -> Answer:
        at, world = self.stamp(scope), self.world()
        start, end = self.interval(at, valid_from, valid_to)
        status = judged(self.trusts(scope, evidence))
        contests = None
        if status is ACCEPTED:
            if world.overlapping(scope, key, start, end):
                raise FactConflict
        else:
            contests = world.contested(scope, key, start, end, at)
        said = (subject, predicate, value, start, valid_to, tuple(evidence))
        return self.state(at, scope, key, said, contests, status)

    def supersede(
        self,
        scope: Scope,
        key: str,
        *,
        subject: str,
        predicate: str,
        value: str,
        evidence: Sequence[str],
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        expected: int | None = None,
        actor: str = "",
        reason: str = "",
    ) -> Answer:
        at, world = self.stamp(scope), self.world()
        start, _ = self.interval(at, valid_from, valid_to)
        status = judged(self.trusts(scope, evidence))
        if not world.of(scope, key):
            raise FactNotFound
        accepted = [each.number for each in world.among(scope, key, ACCEPTED)]
        if expected is not None and expected != max(accepted, default=None):
            raise FactConflict
        if accepted and status is not ACCEPTED:
            raise SupersedeRefused
        said = (subject, predicate, value, start, valid_to, tuple(evidence))
        return self.state(at, scope, key, said, None, status, actor, reason)

    @staticmethod
    def interval(
        at: datetime, valid_from: datetime | None, valid_to: datetime | None
    ) -> tuple[datetime, datetime]:
        start = valid_from or at
        if valid_to is not None and valid_to <= start:
            raise InvalidInput
        return start, valid_to or FOREVER

    def state(
        self,
        at: datetime,
        scope: Scope,
        key: str,
        said: tuple[str, str, str, datetime, datetime | None, tuple[str, ...]],
        contests: Stated | None,
        status: FactStatus,
        actor: str = "",
        reason: str = "",
    ) -> Answer:
        name = 1 + sum(1 for _ in self.events(Stated))
        number = self.next_number(scope, key)
        against = contests.number if contests else None
        self.log.append(Stated(at, scope, name, key, number, *said, against))
        return self.decide(at, name, status, False, actor, reason)

    def decide(
        self, at: datetime, name: int, status: FactStatus, person: bool, actor: str, reason: str
    ) -> Answer:
        (version,) = (each for each in self.events(Stated) if each.name == name)
        self.log.append(Decided(at, version.scope, name, status, person, actor, reason))
        return self.answer(self.world(), version)

    def retract(
        self,
        scope: Scope,
        key: str,
        *,
        version: int | None = None,
        actor: str = "",
        reason: str = "",
    ) -> Answer:
        at, world = self.stamp(scope), self.world()
        open_ = world.among(scope, key, ACCEPTED, *UNDECIDED)
        now = world.in_force(scope, key, at) if version is None else None
        chosen = now or self.choose(open_, version)
        return self.decide(at, chosen.name, RETRACTED, True, actor, reason)

    @staticmethod
    def choose(versions: Sequence[Stated], number: int | None) -> Stated:
        """Return the one of this number, or the only one when none is named."""
        if number is not None:
            versions = [each for each in versions if each.number == number]
        if not versions:
            raise FactNotFound
        if len(versions) > 1:
            raise AmbiguousFact
        return versions[0]

    def accept(
        self,
        scope: Scope,
        key: str,
        *,
        version: int | None = None,
        over: int | None = None,
        actor: str = "",
        reason: str = "",
    ) -> Answer:
        at, world = self.stamp(scope), self.world()
        chosen = self.choose(world.among(scope, key, *UNDECIDED), version)
        since = world.standing[chosen.name].at
        lost = [each for each in self.events(Lost) if each.name == chosen.name and each.at > since]
        if lost or world.retired & set(chosen.cited) & set(self.chunks()):
            raise InvalidEvidence
        found = world.contested(scope, key, chosen.valid_from, chosen.end, at)
        contested = found.number if found else None
        if contested is not None and contested not in (chosen.contests, over):
            raise FactConflict
        if over is not None and over != contested:
            raise FactConflict
        return self.decide(at, chosen.name, ACCEPTED, True, actor, reason)

    def reject(
        self,
        scope: Scope,
        key: str,
        *,
        version: int | None = None,
        actor: str = "",
        reason: str = "",
    ) -> Answer:
        at, world = self.stamp(scope), self.world()
        chosen = self.choose(world.among(scope, key, *UNDECIDED), version)
        return self.decide(at, chosen.name, REJECTED, True, actor, reason)

    # erasing

    def erase(self, scope: Scope, source: str, turn: str | None = None) -> Erasure:
        """Erase a source or one turn of it, what was derived from it, and facts resting only on it."""
        here = {
            name: chunk
            for name, chunk in self.chunks().items()
            if (chunk.scope, chunk.source) == (scope, source)
        }
        if not here:
            return Erasure(source_found=False)
        at = self.stamp(scope)
        self.log.append(Event(at, scope))
        doomed = {name for name, chunk in here.items() if turn in (None, chunk.turn)}
        while more := {n for n, c in self.chunks().items() if c.parents & doomed} - doomed:
            doomed |= more
        mine = sum(self.chunks()[name].scope == scope for name in doomed)
        cited = [
            (version, {name for name in version.cited if name in self.chunks()})
            for version in self.world().versions
        ]
        self.log += [Erased(at, scope, name) for name in sorted(doomed)]
        links = erased = kept = 0
        stamps = {scope: at}
        for version, before in cited:
            if not before & doomed:
                continue
            when = stamps.setdefault(version.scope, self.stamp(version.scope))
            gone = not before - doomed
            if gone:
                self.log.append(Forgotten(when, version.scope, version.name))
            else:
                self.log.append(Lost(when, version.scope, version.name))
                self.judge_again(when, version)
            if version.scope == scope:
                links, erased, kept = links + len(before & doomed), erased + gone, kept + (not gone)
        return Erasure(True, mine, links, erased, kept)

    def judge_again(self, at: datetime, version: Stated) -> None:
        """Lower a version that lost a citation, if that lowers it."""
        chunks, standing = self.chunks(), self.world().standing[version.name]
        if standing.status is ACCEPTED and standing.person:
            status = PROPOSAL
        else:
            remaining = [chunks[name].trust for name in version.cited if name in chunks]
            status = lower(standing.status, judged(remaining))
        if status is not standing.status:
            self.decide(at, version.name, status, False, "", WHY_LOWERED)

    def erase_fact(self, scope: Scope, key: str, version: int | None = None) -> Erasure:
        """Erase a version, or the whole fact."""
        doomed = [v for v in self.world().of(scope, key) if version in (None, v.number)]
        at, chunks = self.stamp(scope), self.chunks()
        self.log += [Forgotten(at, scope, each.name) for each in doomed]
        links = sum(name in chunks for each in doomed for name in each.cited)
        return Erasure(bool(doomed), 0, links, len(doomed), 0)

    # reading

    def facts(
        self,
        scope: Scope,
        subject: str | None = None,
        *,
        predicate: str | None = None,
        at: datetime | None = None,
        known_at: datetime | None = None,
        unaccepted: bool = False,
    ) -> list[Answer]:
        world = self.world(known_at)
        found = []
        for level in scope.chain:
            for key in sorted({each.key for each in world.versions if each.scope == level}):
                when = self.when(world, level, key, at, known_at)
                holding = world.in_force(level, key, when)
                wanted = [holding] if holding else []
                if unaccepted:
                    wanted += self.waiting(world, level, key, when)
                wanted.sort(key=lambda each: each.number)
                shadowed = self.shadowed(world, scope, level, key, at, known_at)
                found += [self.answer(world, each, shadowed) for each in wanted]
        return [
            each
            for each in found
            if subject in (None, each.subject) and predicate in (None, each.predicate)
        ]

    def when(
        self,
        world: World,
        scope: Scope,
        key: str,
        at: datetime | None,
        known_at: datetime | None,
    ) -> datetime:
        """Return the valid instant asked about: now is never before what was last recorded."""
        recorded = [each.at for each in world.of(scope, key)]
        return at or known_at or max([self.clock, *recorded])

    @staticmethod
    def waiting(world: World, scope: Scope, key: str, at: datetime) -> list[Stated]:
        undecided = world.among(scope, key, *UNDECIDED)
        return [each for each in undecided if each.valid_from <= at < each.end]

    def shadowed(
        self,
        world: World,
        reader: Scope,
        level: Scope,
        key: str,
        at: datetime | None,
        known_at: datetime | None,
    ) -> bool:
        nearer = reader.chain[: reader.chain.index(level)]
        return any(
            world.in_force(each, key, self.when(world, each, key, at, known_at)) for each in nearer
        )

    def fact(
        self,
        scope: Scope,
        key: str,
        *,
        at: datetime | None = None,
        known_at: datetime | None = None,
        unaccepted: bool = False,
    ) -> Answer:
        world = self.world(known_at)
        for level in scope.chain:
            if found := world.in_force(level, key, self.when(world, level, key, at, known_at)):
                return self.answer(world, found)
        for level in scope.chain if unaccepted else ():
            when = self.when(world, level, key, at, known_at)
            if waiting := self.waiting(world, level, key, when):
                return self.answer(world, max(waiting, key=lambda each: each.number))
        raise FactNotFound

    def timeline(
        self,
        scope: Scope,
        subject: str,
        *,
        predicate: str | None = None,
        known_at: datetime | None = None,
    ) -> list[Answer]:
        world, levels = self.world(known_at), scope.chain
        found = [
            each
            for each in world.versions
            if each.scope in levels
            and each.subject == subject
            and predicate in (None, each.predicate)
        ]
        found.sort(
            key=lambda v: (v.valid_from, v.at, levels.index(v.scope), v.key, v.number),
        )
        return [
            self.answer(
                world, each, self.shadowed(world, scope, each.scope, each.key, None, known_at)
            )
            for each in found
        ]

    def answer(self, world: World, version: Stated, shadowed: bool = False) -> Answer:
        chunks, standing = self.chunks(), world.standing[version.name]
        remaining = [name for name in version.cited if name in chunks]
        valid_to = version.valid_to
        for each, _, end in world.held(version.scope, version.key):
            if each is version:
                valid_to = None if end == FOREVER else end
        return Answer(
            key=version.key,
            version=version.number,
            scope=version.scope,
            status=standing.status,
            subject=version.subject,
            predicate=version.predicate,
            value=version.value,
            valid_from=version.valid_from,
            valid_to=valid_to,
            stated_valid_to=version.valid_to,
            recorded_from=version.at,
            recorded_to=standing.at if standing.status in CLOSED else None,
            evidence=frozenset((name, chunks[name].trust) for name in remaining),
            contests=version.contests,
            stale=not world.retired.isdisjoint(remaining),
            shadowed=shadowed,
            decided_by=standing.actor,
            decided_at=standing.at,
            reason=standing.reason,
            by_policy=not standing.person,
        )
