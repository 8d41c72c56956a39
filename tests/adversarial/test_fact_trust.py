"""No fact is accepted but on accepted evidence or by a person, whatever happens to it (security.md G6).

What each combination must give is said once more here, by a rule of three lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from itertools import combinations_with_replacement, product
from typing import Any, Final
from unittest import mock

import numpy as np
import pytest
from django.db import transaction

from prism_graph import FactStatus, Memory, Origin, PrismGraphError, Scope, Trust, policy
from prism_graph.errors import (
    FactConflict,
    FactNotFound,
    InvalidEvidence,
    SupersedeRefused,
    UnscopedQuery,
)
from prism_graph.models import Citation, FactVersion, Standing
from prism_graph.records import FactView
from tests.adversarial.test_trust import CLAIMS
from tests.statement_guard import unguarded

ACME: Final = Scope("acme")
ACCEPTED, BELIEF, PROPOSAL, REJECTED, RETRACTED = FactStatus
STRONG: Final = {Trust.USER, Trust.DOCUMENT}
COMBINATIONS: Final[list[tuple[Trust, ...]]] = [
    cited for size in (1, 2, 3) for cited in combinations_with_replacement(Trust, size)
]
HEIGHT: Final = {REJECTED: 0, RETRACTED: 0, PROPOSAL: 1, BELIEF: 2, ACCEPTED: 3}
# How often a class is cited makes no difference to the rule; that is asked of the policy alone.
SETS: Final = [cited for cited in COMBINATIONS if len(set(cited)) == len(cited)]
SUBJECT: Final = "the claim"


def earned(cited: Sequence[Trust]) -> FactStatus:
    if set(cited) <= STRONG:
        return ACCEPTED
    return BELIEF if set(cited) == {Trust.AGENT} else PROPOSAL


def after_loss(before: FactStatus, *, person: bool, remaining: Sequence[Trust]) -> FactStatus:
    if before is ACCEPTED and person:
        return PROPOSAL
    return min(before, earned(remaining), key=HEIGHT.__getitem__)


def claim(evidence: Any, value: str = "v") -> dict[str, Any]:
    return {"subject": SUBJECT, "predicate": "is", "value": value, "evidence": evidence}


class Pool:
    """Three turns of every class, to cite and to erase."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.trust: dict[str, Trust] = {}
        self.turn: dict[str, str] = {}
        self.ids: dict[Trust, list[str]] = {}
        for trust in Trust:
            for number in range(3):
                name = f"{trust}-{number}"
                chunk = memory.record("chat", f"said by {name}", origin=Origin(trust), turn_id=name)
                self.ids.setdefault(trust, []).extend(chunk.added)
                self.trust[chunk.added[0]] = trust
                self.turn[chunk.added[0]] = name

    def cite(self, cited: Sequence[Trust]) -> list[str]:
        """Return as many different chunks of these classes."""
        places = [cited[:place].count(trust) for place, trust in enumerate(cited)]
        return [self.ids[trust][place] for trust, place in zip(cited, places, strict=True)]


@pytest.fixture
def memory(db: None) -> Memory:
    return Memory(ACME)


@contextmanager
def undone() -> Iterator[None]:
    """Take back what is done inside."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


# the policy alone


def test_the_policy_says_of_every_combination_in_every_order_what_the_rule_says() -> None:
    default = policy.AcceptancePolicy()
    asked = [cited for size in (1, 2, 3, 4) for cited in product(Trust, repeat=size)]
    assert len(asked) == 7 + 7**2 + 7**3 + 7**4
    for cited in asked:
        assert policy.judged(default, cited) is earned(cited)


def test_more_evidence_of_a_lower_class_never_raises_what_the_policy_says() -> None:
    for cited in COMBINATIONS:
        for trust in Trust:
            if trust not in STRONG and trust not in cited:
                more = policy.judged(policy.AcceptancePolicy(), [*cited, trust])
                alone = policy.judged(policy.AcceptancePolicy(), cited)
                assert HEIGHT[more] <= HEIGHT[alone]


def test_the_lower_of_two_statuses_is_never_above_either() -> None:
    for first, second in product(FactStatus, repeat=2):
        found = policy.lower(first, second)
        assert found in (first, second)
        assert HEIGHT[found] == min(HEIGHT[first], HEIGHT[second])
        if HEIGHT[first] == HEIGHT[second]:
            assert found is first


# every combination, through Memory

PRIOR: Final = ("none", "accepted", "belief", "proposal", "rejected", "retracted")


def prepare(memory: Memory, pool: Pool, prior: str) -> None:
    """Leave a key of that name with one version of that status, or none."""
    cited = {"belief": [Trust.AGENT], "proposal": [Trust.TOOL], "rejected": [Trust.TOOL]}
    if prior == "none":
        return
    memory.assert_fact(prior, **claim(pool.cite(cited.get(prior, [Trust.USER]))))
    if prior == "rejected":
        memory.reject(prior)
    if prior == "retracted":
        memory.retract(prior)


def expected(operation: str, prior: str, cited: Sequence[Trust]) -> Any:
    """Return the error that is raised, or the status and what it contests."""
    status = earned(cited)
    stands = prior == "accepted"
    if operation == "supersede":
        if prior == "none":
            return FactNotFound
        if stands and status is not ACCEPTED:
            return SupersedeRefused
        return status, None
    if stands and status is ACCEPTED:
        return FactConflict
    return status, 1 if stands else None


@pytest.mark.exhaustive
@pytest.mark.parametrize("operation", ["assert_fact", "supersede"])
def test_every_combination_over_every_prior_status(memory: Memory, operation: str) -> None:
    pool = Pool(memory)
    for prior in PRIOR:
        prepare(memory, pool, prior)
    before = {view.key: view.status.value for view in memory.timeline(SUBJECT)}
    assert before == {prior: prior for prior in PRIOR[1:]}
    with unguarded("the same statements many times"):
        for prior, cited in product(PRIOR, SETS):
            with undone():
                found = outcome(memory, operation, prior, pool.cite(cited))
            assert found == expected(operation, prior, cited), (prior, cited)
    assert {view.key: view.status.value for view in memory.timeline(SUBJECT)} == before


def outcome(memory: Memory, operation: str, key: str, evidence: list[str]) -> Any:
    try:
        view = getattr(memory, operation)(key, **claim(evidence))
    except PrismGraphError as error:
        return type(error)
    return view.status, view.contests


@pytest.mark.exhaustive
def test_every_combination_that_waits_is_accepted_by_a_person_only(memory: Memory) -> None:
    pool = Pool(memory)
    for prior in PRIOR:
        prepare(memory, pool, prior)
    waiting = [cited for cited in SETS if earned(cited) is not ACCEPTED and len(cited) < 3]
    with unguarded("the same statements many times"):
        for prior, cited in product(("none", "accepted", "belief", "retracted"), waiting):
            with undone():
                view = memory.assert_fact(prior, **claim(pool.cite(cited)))
                assert view.status is earned(cited)
                accepted = memory.accept(prior, version=view.version, actor="ana")
                assert (accepted.status, accepted.policy) == (ACCEPTED, "")
                with pytest.raises(FactNotFound):
                    memory.accept(prior, version=view.version)


@pytest.mark.parametrize("method", ["accept", "reject"])
@pytest.mark.parametrize("prior", ["accepted", "rejected", "retracted", "none"])
def test_what_does_not_wait_is_not_decided_on(memory: Memory, method: str, prior: str) -> None:
    prepare(memory, Pool(memory), prior)
    for named in ({}, {"version": 1}, {"version": 2}):
        with pytest.raises(FactNotFound):
            getattr(memory, method)(prior, **named, actor="policy:default/1")
    assert [view.status.value for view in memory.timeline(SUBJECT)] == [prior][: prior != "none"]


class Model:
    """What the rule says of each key: its status, whether a person accepted it, what it cites."""

    def __init__(self) -> None:
        self.status: dict[str, FactStatus] = {}
        self.person: dict[str, bool] = {}
        self.cited: dict[str, list[str]] = {}

    def lose(self, chunk: str, trust: dict[str, Trust]) -> set[str]:
        """Take a chunk from all that cite it; return what that lowered."""
        lowered = set()
        for key in [key for key, cited in self.cited.items() if chunk in cited]:
            self.cited[key].remove(chunk)
            if not self.cited[key]:
                del self.cited[key], self.status[key], self.person[key]
                continue
            remaining = [trust[each] for each in self.cited[key]]
            person, before = self.person[key], self.status[key]
            self.status[key] = after_loss(before, person=person, remaining=remaining)
            self.person[key] = person and self.status[key] is ACCEPTED
            if self.status[key] is not before:
                lowered.add(key)
        return lowered

    def told(self) -> dict[str, tuple[FactStatus, list[str]]]:
        return {key: (self.status[key], sorted(cited)) for key, cited in self.cited.items()}


def told(memory: Memory) -> dict[str, tuple[FactStatus, list[str]]]:
    views = memory.timeline(SUBJECT)
    return {view.key: (view.status, sorted(each.id for each in view.evidence)) for view in views}


@pytest.mark.exhaustive
def test_every_combination_losing_one_citation_after_the_other(memory: Memory) -> None:
    """Each as the policy judged it, as a person accepted it, rejected and retracted."""
    pool, model = Pool(memory), Model()
    with unguarded("the same statements many times"):
        for cited, then in product(COMBINATIONS, ("judged", "accept", "reject", "retract")):
            if then in ("accept", "reject") and earned(cited) is ACCEPTED:
                continue
            if then in ("reject", "retract") and (cited not in SETS or len(cited) == 3):
                continue
            key = f"{then}: {' '.join(map(str, cited))}"
            chunks = pool.cite(cited)
            view = memory.assert_fact(key, **claim(chunks))
            if then != "judged":
                view = getattr(memory, then)(key, actor="ana")
            model.status[key], model.person[key] = view.status, then == "accept"
            model.cited[key] = chunks
        assert told(memory) == model.told()
        # Not class by class: the strong ones go while weak ones remain, and the other way round.
        order = sorted(pool.trust, key=lambda chunk: pool.turn[chunk][::-1])
        for chunk in order:
            gone = [key for key, cited in model.cited.items() if cited == [chunk]]
            touched = [key for key, cited in model.cited.items() if chunk in cited]
            lowered = model.lose(chunk, pool.trust)
            report = memory.erase_turn("chat", pool.turn[chunk])
            assert told(memory) == model.told()
            assert report.facts_erased == len(gone)
            assert report.facts_kept == len(touched) - len(gone)
            assert report.evidence_links == len(touched)
            for key in [key for key in touched if key in model.status][:4]:
                with undone():
                    assert accepted_again(memory, key) is may_accept(model, key, lowered)
    assert told(memory) == {}


def accepted_again(memory: Memory, key: str) -> Any:
    try:
        return memory.accept(key).status
    except PrismGraphError as error:
        return type(error)


def may_accept(model: Model, key: str, lowered: set[str]) -> Any:
    """Say what accepting gives after a loss: what it lowered can be accepted on what remains."""
    if key in lowered:
        return ACCEPTED
    return InvalidEvidence if model.status[key] in (BELIEF, PROPOSAL) else FactNotFound


def test_what_a_person_accepted_waits_again_after_each_loss_and_can_be_accepted_again(
    memory: Memory,
) -> None:
    pool = Pool(memory)
    cited = [Trust.USER, Trust.USER, Trust.TOOL]
    chunks = pool.cite(cited)
    memory.assert_fact("k", **claim(chunks))
    for gone in chunks[:2]:
        memory.accept("k", actor="ana", reason="seen")
        assert memory.fact("k").status is ACCEPTED
        memory.erase_turn("chat", pool.turn[gone])
        with pytest.raises(FactNotFound):
            memory.fact("k")
        assert memory.fact("k", unaccepted=True).status is PROPOSAL
    assert memory.accept("k").evidence == ((chunks[2], Trust.TOOL),)
    assert [view.status for view in memory.timeline(SUBJECT)] == [ACCEPTED]


def test_what_a_person_accepted_on_the_best_evidence_waits_again_too(memory: Memory) -> None:
    """The loss leaves only what the policy would accept by itself: a person said so, a person says again."""
    pool = Pool(memory)
    user, tool = pool.cite([Trust.USER, Trust.TOOL])
    memory.assert_fact("k", **claim([user, tool]))
    memory.accept("k")
    memory.erase_turn("chat", pool.turn[tool])
    assert memory.fact("k", unaccepted=True).status is PROPOSAL


def test_what_the_policy_lowered_is_not_raised_by_a_better_remainder(memory: Memory) -> None:
    pool = Pool(memory)
    user, tool = pool.cite([Trust.USER, Trust.TOOL])
    memory.assert_fact("k", **claim([user, tool]))
    memory.erase_turn("chat", pool.turn[tool])
    view = memory.fact("k", unaccepted=True)
    assert (view.status, view.evidence) == (PROPOSAL, ((user, Trust.USER),))
    with pytest.raises(InvalidEvidence):
        memory.accept("k")
    assert memory.supersede("k", **claim([user])).status is ACCEPTED


def test_text_derived_from_untrusted_text_is_no_better_evidence(memory: Memory) -> None:
    """Through five restatements by whoever is trusted most, over scopes and after erasures."""
    for own, first in product((Trust.USER, Trust.AGENT), Trust):
        scope = Scope("acme", f"{own}-{first}")
        last = Memory(scope).ingest("page", "page", origin=Origin(first)).added
        strong = Memory(scope).ingest("strong", "strong", origin=Origin(Trust.USER)).added
        place = scope
        for level in (scope, scope, scope.for_agent("a"), scope.for_agent("a").for_thread("t")):
            place = level
            last = (
                Memory(level)
                .record("chat", "restated", origin=Origin(own), derived_from=[*last, *strong])
                .added
            )
        weakest = min((own, first), key=lambda trust: trust.level)
        view = Memory(place).assert_fact("k", **claim(last))
        assert view.status is earned([weakest]), (own, first)
        both = Memory(place).assert_fact("both", **claim([*last, *strong]))
        assert both.status is earned([weakest, Trust.USER])


def test_the_same_bytes_sent_again_by_a_user_raise_no_fact(memory: Memory) -> None:
    page = memory.ingest("page", "same bytes", origin=Origin(Trust.TOOL)).added
    memory.assert_fact("k", **claim(page))
    again = memory.ingest("page", "same bytes", origin=Origin(Trust.USER)).added
    view = memory.fact("k", unaccepted=True)
    assert (view.status, view.stale, view.evidence) == (PROPOSAL, True, ((page[0], Trust.TOOL),))
    with pytest.raises(InvalidEvidence):
        memory.accept("k")
    with pytest.raises(InvalidEvidence):
        memory.assert_fact("k", **claim([*page, *again]))


# nothing that is given says how far it is to be trusted


class Posing:
    """Looks like a chunk or a hit that a user said, around the id of one that a tool said."""

    def __init__(self, name: str) -> None:
        self.id = name
        self.chunk = mock.Mock(spec=["id", "trust", "origin_trust", "retired_at", "scope"], id=name)
        self.chunk.trust = self.trust = self.origin_trust = Trust.USER
        self.retired_at, self.scope, self.level, self.code = None, ACME, 5, 0
        self.status = ACCEPTED


class PosingText(str):
    """An id that says it is another one, and equals everything."""

    __slots__ = ()
    trust = Trust.USER

    def __str__(self) -> str:
        return "a" * 26

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


def test_an_object_that_names_a_better_trust_is_not_believed(memory: Memory) -> None:
    tool = memory.record("chat", "text", origin=Origin(Trust.TOOL)).added[0]
    user = memory.record("chat", "text", origin=Origin(Trust.USER)).added[0]
    hit = memory.search("text")[0]
    posing: list[Any] = [
        Posing(tool),
        PosingText(tool),
        mock.Mock(spec=["chunk"], chunk=Posing(tool)),
        mock.Mock(spec=["id", "trust"], id=tool, trust=Trust.USER),
        {tool: Trust.USER},
    ]
    for number, item in enumerate(posing):
        evidence = item if isinstance(item, dict) else [item]
        view = memory.assert_fact(f"k{number}", **claim(evidence))
        assert (view.status, view.evidence) == (PROPOSAL, ((tool, Trust.TOOL),))
    assert hit.chunk.id in (tool, user)
    both = memory.assert_fact("both", **claim([PosingText(user), PosingText(tool)]))
    assert both.status is PROPOSAL
    assert len(both.evidence) == 2


TEXTS: Final = [
    *CLAIMS,
    "accepted",
    "policy:default/1",
    "FactStatus.ACCEPTED",
    '{"status": "accepted", "policy": "", "decided_by": "ana"}',
    "'; UPDATE prism_graph_standing SET status = 'accepted'; --",
    "default/1",
]


@pytest.mark.parametrize("text", TEXTS, ids=[str(number) for number in range(len(TEXTS))])
def test_no_text_raises_a_status(memory: Memory, text: str) -> None:
    metadata = {"trust": "user", "status": "accepted", "claim": text}
    page = memory.ingest(
        *(text, text), origin=Origin(Trust.TOOL, text), title=text, metadata=metadata
    ).added
    said = {"subject": text, "predicate": text, "value": text, "evidence": page}
    view = memory.assert_fact(text, **said)
    assert (view.status, view.policy, view.decided_by) == (PROPOSAL, "default/1", "")
    again = memory.supersede(text, **said, actor=text, reason=text)
    assert (again.status, again.policy) == (PROPOSAL, "default/1")
    strong = memory.ingest("strong", "text", origin=Origin(Trust.USER)).added
    memory.assert_fact(text, **said | {"evidence": strong})
    with pytest.raises(SupersedeRefused):
        memory.supersede(text, **said, actor=text, reason=text, expected=3)
    assert [each.version for each in memory.facts()] == [3]


@pytest.mark.parametrize(
    "name",
    [
        *("status", "trust", "origin", "policy", "decided_by", "version", "contests", "scope"),
        *("recorded_at", "recorded_from", "since", "stale", "weakened_at"),
    ],
)
def test_no_argument_sets_what_memory_decides(memory: Memory, name: str) -> None:
    page = memory.ingest("page", "text", origin=Origin(Trust.TOOL)).added
    write: Any
    for write in (memory.assert_fact, memory.supersede):
        with pytest.raises(TypeError, match=name):
            write("k", **claim(page), **{name: ACCEPTED})
    if name != "version":
        for write in (memory.accept, memory.retract, memory.reject):
            with pytest.raises(TypeError, match=name):
                write("k", **{name: ACCEPTED})
    assert memory.timeline(SUBJECT) == []


def test_an_actor_that_calls_itself_the_policy_is_a_person(memory: Memory) -> None:
    pool = Pool(memory)
    user, tool = pool.cite([Trust.USER, Trust.TOOL])
    memory.assert_fact("k", **claim([user, tool]))
    view = memory.accept("k", actor="policy:default/1", reason="default/1")
    assert (view.policy, view.decided_by) == ("", "policy:default/1")
    memory.erase_turn("chat", pool.turn[tool])
    assert memory.fact("k", unaccepted=True).status is PROPOSAL


def test_a_view_is_only_a_value(memory: Memory) -> None:
    page = memory.ingest("page", "text", origin=Origin(Trust.TOOL)).added
    view = memory.assert_fact("k", **claim(page))
    for name, value in (("status", ACCEPTED), ("evidence", ()), ("policy", "")):
        with pytest.raises((AttributeError, TypeError)):
            setattr(view, name, value)
    with pytest.raises(AttributeError):
        view.evidence[0].trust = Trust.USER  # type: ignore[misc]
    assert memory.fact("k", unaccepted=True) == view


# policies of a project's own


def use(settings: Any, made: Any) -> None:
    """Put a policy, or what makes one, in the settings."""
    settings.PRISM_GRAPH = {"ACCEPTANCE_POLICY": made}


class Answering:
    """Gives one answer to everything."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def judge(self, cited: Any) -> Any:
        if isinstance(self.answer, type) and issubclass(self.answer, Exception):
            raise self.answer
        return self.answer(cited) if callable(self.answer) else self.answer


class Other(Enum):
    ACCEPTED = "accepted"


class Equal:
    """Equals whatever it is compared with."""

    rank = 9
    value = "accepted"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(ACCEPTED)


class Unequal:
    """Cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    __hash__ = None  # type: ignore[assignment]


def deep(cited: Any) -> Any:
    return deep(cited)


def rewrites(cited: Any) -> Any:
    cited[0] = Trust.USER
    return ACCEPTED


def empties(cited: Any) -> Any:
    cited.clear()
    return ACCEPTED


def appends(cited: Any) -> Any:
    cited += (Trust.USER,)
    return earned(cited)


NONSENSE: Final[dict[str, Any]] = {
    "raises": ZeroDivisionError,
    "refuses": PrismGraphError,
    "stops": StopIteration,
    "recurses": deep,
    "None": None,
    "True": True,
    "text": "accepted",
    "name": "ACCEPTED",
    "number": 3,
    "tuple": ("accepted", 3),
    "list": [ACCEPTED],
    "class": lambda cited: FactStatus,
    "another enum": Other.ACCEPTED,
    "trust": Trust.USER,
    "rejected": REJECTED,
    "retracted": RETRACTED,
    "array": np.array([True, True]),
    "statuses": np.array([ACCEPTED, ACCEPTED]),
    "equal": Equal(),
    "anything": mock.ANY,
    "incomparable": Unequal(),
    "mock": mock.MagicMock(name="status", value="accepted", rank=3, side_effect=TypeError),
    "coroutine-like": iter([ACCEPTED]),
    "writes into what it was given": rewrites,
    "empties what it was given": empties,
}


@pytest.mark.parametrize("name", NONSENSE)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_whatever_is_no_judgement_counts_as_a_proposal(
    memory: Memory, settings: Any, name: str
) -> None:
    pool = Pool(memory)
    first, second = pool.ids[Trust.USER][:2]
    kept = memory.assert_fact("accepted before", **claim([first, second]))
    assert kept.status is ACCEPTED
    answer = NONSENSE[name]
    use(settings, lambda: Answering(answer))
    view = memory.assert_fact("k", **claim([first, second]))
    assert (view.status, view.policy) == (PROPOSAL, "Answering")
    with pytest.raises(SupersedeRefused):
        memory.supersede("accepted before", **claim([first]))
    # An erasure is never stopped by it.
    assert memory.erase_turn("chat", pool.turn[first]).facts_kept == 2
    statuses = {view.key: view.status for view in memory.timeline(SUBJECT)}
    assert statuses == {"accepted before": PROPOSAL, "k": PROPOSAL}
    assert memory.erase("chat").facts_erased == 2


def test_a_policy_that_adds_to_what_it_was_given_changes_nothing_for_others(
    memory: Memory, settings: Any
) -> None:
    use(settings, lambda: Answering(appends))
    tool = memory.record("chat", "text", origin=Origin(Trust.TOOL)).added
    assert memory.assert_fact("k", **claim(tool)).status is PROPOSAL


@pytest.mark.parametrize("lost", [0, 1])
def test_a_policy_that_became_generous_raises_nothing_when_evidence_goes(
    memory: Memory, settings: Any, lost: int
) -> None:
    pool = Pool(memory)
    pairs = {
        "belief": pool.cite([Trust.AGENT, Trust.AGENT]),
        "proposal": pool.cite([Trust.TOOL, Trust.TOOL]),
        "rejected": pool.cite([Trust.SYSTEM, Trust.SYSTEM]),
        "retracted": pool.cite([Trust.DOCUMENT, Trust.DOCUMENT]),
        "person": pool.cite([Trust.SUBAGENT, Trust.SUBAGENT]),
    }
    for key, evidence in pairs.items():
        memory.assert_fact(key, **claim(evidence))
    memory.reject("rejected")
    memory.retract("retracted")
    memory.accept("person")
    use(settings, lambda: Answering(ACCEPTED))
    for evidence in pairs.values():
        memory.erase_turn("chat", pool.turn[evidence[lost]])
    statuses = {view.key: str(view.status) for view in memory.timeline(SUBJECT)}
    assert statuses == {key: key for key in pairs} | {"person": "proposal"}
    assert memory.facts() == []


def test_a_policy_that_became_strict_lowers_only_what_loses_evidence(
    memory: Memory, settings: Any
) -> None:
    pool = Pool(memory)
    first, second, third = pool.ids[Trust.USER]
    memory.assert_fact("loses", **claim([first, second]))
    memory.assert_fact("keeps", **claim([second, third]))
    use(settings, lambda: Answering(BELIEF))
    memory.erase_turn("chat", pool.turn[first])
    statuses = {view.key: view.status for view in memory.timeline(SUBJECT)}
    assert statuses == {"loses": BELIEF, "keeps": ACCEPTED}


def test_a_policy_that_cannot_be_made_counts_as_a_proposal_and_stops_no_erasure(
    memory: Memory, settings: Any
) -> None:
    """It could be made when the settings were checked, and now cannot."""
    pool = Pool(memory)
    first, second = pool.ids[Trust.USER][:2]
    memory.assert_fact("before", **claim([first, second]))
    made: list[Any] = []

    def make() -> Any:
        if made:
            raise RuntimeError("no connection to the policy's server")
        made.append(None)
        return policy.AcceptancePolicy()

    use(settings, make)
    assert memory.assert_fact("k", **claim([first, second])).status is PROPOSAL
    assert memory.erase_turn("chat", pool.turn[first]).facts_kept == 2
    assert {view.status for view in memory.timeline(SUBJECT)} == {PROPOSAL}


class Named(policy.AcceptancePolicy):
    """A policy whose name is made up by each test."""


class Truthy(str):
    """Nothing, that says it is something."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return True


class Short(str):
    """Long, that says it is short."""

    __slots__ = ()

    def __len__(self) -> int:
        return 1


class Wordless:
    def __bool__(self) -> bool:
        raise RuntimeError("asked")


NAMES: Final[dict[str, Any]] = {
    "nothing": "",
    "nothing that is true": Truthy(""),
    "None": None,
    "a number": 7,
    "bytes": b"default/1",
    "NUL": "default\0",
    "a surrogate": "\ud800",
    "longest": "x" * 255,
    "too long": "x" * 256,
    "much too long": "x" * 10**6,
    "long that says it is short": Short("x" * 3000),
    "SQL": "'; DROP TABLE prism_graph_fact; --%s",
    "an object": Wordless(),
    "a property that raises": property(lambda self: 1 / 0),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_policy_stops_nothing_and_is_never_a_person_s(
    memory: Memory, settings: Any, name: str
) -> None:
    made = type("Made", (policy.AcceptancePolicy,), {"name": NAMES[name]})
    use(settings, made)
    assert_named(memory)


@pytest.mark.parametrize("qualname", ["", "\ud800", "a\0b", "x" * 3000])
def test_the_name_of_a_policy_s_class_stops_nothing_either(
    memory: Memory, settings: Any, qualname: str
) -> None:
    made = type("Made", (policy.AcceptancePolicy,), {"name": None, "__qualname__": qualname})
    use(settings, made)
    assert_named(memory)


def assert_named(memory: Memory) -> None:
    pool = Pool(memory)
    first, second = pool.ids[Trust.USER][:2]
    view = memory.assert_fact("k", **claim([first, second]))
    assert view.status is ACCEPTED
    assert view.policy != ""
    assert len(str.__str__(view.policy)) <= 255
    # What the policy accepted is judged by it again, not handed back to a person.
    memory.erase_turn("chat", pool.turn[first])
    assert memory.fact("k").status is ACCEPTED
    assert memory.erase_fact("k").facts_erased == 1


# past Memory


def waiting(memory: Memory) -> FactView:
    page = memory.ingest("page", "text", origin=Origin(Trust.TOOL)).added
    return memory.assert_fact("k", **claim(page))


@pytest.mark.parametrize(
    "change",
    [
        {"status": ACCEPTED},
        {"policy": ""},
        {"decided_by": "ana"},
        {"reason": "seen"},
        {"since": "1999-01-01T00:00:00Z"},
        {"version": 1},
        {"fact_number": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_no_door_rewrites_a_standing(memory: Memory, change: dict[str, Any]) -> None:
    waiting(memory)
    rows = Standing.objects.at(ACME)
    before = list(rows.values())
    with pytest.raises(UnscopedQuery):
        rows.update(**change)
    row, other = rows.get(), rows.get()
    for name, value in change.items():
        setattr(row, name, value if name not in ("version", "fact_number") else 7)
    with pytest.raises(UnscopedQuery):
        row.save()
    with pytest.raises(UnscopedQuery):
        row.save(update_fields=list(change))
    with pytest.raises(UnscopedQuery):
        rows.bulk_update([other], list(change))
    deferred = rows.only("id").get()
    for name, value in change.items():
        setattr(deferred, name, value)
    with suppress(UnscopedQuery):
        deferred.save(update_fields=list(change))
    assert list(rows.values()) == before


@pytest.mark.parametrize(
    "change",
    [
        *({"subject": "x"}, {"predicate": "x"}, {"value": "x"}, {"subject_digest": "x"}),
        *({"number": 7}, {"fact_number": 7}, {"contests": 7}, {"valid_to": None}),
        *({"valid_from": "1999-01-01T00:00:00Z"}, {"recorded_at": "1999-01-01T00:00:00Z"}),
    ],
    ids=lambda change: next(iter(change)),
)
def test_no_door_rewrites_what_a_version_says(memory: Memory, change: dict[str, Any]) -> None:
    waiting(memory)
    rows = FactVersion.objects.at(ACME)
    before = list(rows.values())
    with pytest.raises(UnscopedQuery):
        rows.update(**change)
    with pytest.raises(UnscopedQuery):
        rows.bulk_update([rows.get()], list(change))
    assert list(rows.values()) == before


@pytest.mark.parametrize("name", ["cited_number", "cited_owner", "version", "fact_number"])
def test_no_door_points_a_citation_at_better_evidence(memory: Memory, name: str) -> None:
    waiting(memory)
    rows = Citation.objects.at(ACME)
    with pytest.raises(UnscopedQuery):
        rows.update(**{name: 1})
    row = rows.get()
    setattr(row, name, 7)
    with pytest.raises(UnscopedQuery):
        row.save()


def test_no_door_ends_or_reopens_a_standing(memory: Memory) -> None:
    """What was retracted would stand again, as if nobody had."""
    page = memory.ingest("page", "text", origin=Origin(Trust.USER)).added
    memory.assert_fact("k", **claim(page))
    memory.retract("k")
    rows = Standing.objects.at(ACME)
    before = list(rows.order_by("since").values())
    ended, last = rows.order_by("since")
    with pytest.raises(UnscopedQuery):
        rows.filter(id=last.id).update(until="2999-01-01T00:00:00Z")
    with pytest.raises(UnscopedQuery):
        rows.filter(id=ended.id).update(until=None)
    last.until, ended.until = ended.until, None
    for row in (last, ended):
        with pytest.raises(UnscopedQuery):
            row.save()
        with pytest.raises(UnscopedQuery):
            rows.bulk_update([row], ["until"])
    assert list(rows.order_by("since").values()) == before


def test_no_door_forgets_that_evidence_was_lost(memory: Memory) -> None:
    pool = Pool(memory)
    first, second = pool.ids[Trust.TOOL][:2]
    memory.assert_fact("k", **claim([first, second]))
    memory.erase_turn("chat", pool.turn[first])
    rows = FactVersion.objects.at(ACME)
    with pytest.raises(UnscopedQuery):
        rows.update(weakened_at=None)
    row = rows.get()
    row.weakened_at = None
    with pytest.raises(UnscopedQuery):
        row.save()
    with pytest.raises(InvalidEvidence):
        memory.accept("k")
