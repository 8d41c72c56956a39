from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, Permission, User
from django.core.management import BaseCommand, CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from helpdesk.importing import ingest_document, record_chats
from helpdesk.scopes import REVIEWERS
from prism_graph import FactStatus, Memory, Origin, PrismGraphError, Scope, Trust, conf
from prism_graph.errors import SupersedeRefused
from prism_graph.models import FactVersion, Receipt
from prism_graph.records import FactView, Hit, IngestReport

DATA = settings.BASE_DIR / "data"
MEMBERS = {"alice": "acme", "bob": "acme", "gina": "globex"}
STAFF = {"maren": "acme", "greta": "globex"}
MAY = ("view_", "accept_", "retract_", "erase_")

# What is looked for, words that only the right passage holds, and who must find it.
PROBES = [
    (
        "how long may a customer send an item back",
        "30 days of delivery",
        {"acme", "alice", "bob", "alice's agent", "alice's thread"},
    ),
    ("cancel and get a full refund", "14 days of purchase", {"globex"}),
    (
        "who looks at a damaged parcel above 500",
        "the returns desk",
        {"acme", "alice", "bob", "alice's agent", "alice's thread"},
    ),
    ("where is she moving", "Rua das Flores", {"alice", "alice's agent", "alice's thread"}),
    ("allergies", "allergic to latex", {"bob"}),
    ("replacement for the kettle", "leaves our warehouse", {"alice's agent", "alice's thread"}),
    ("carrier of order 4471", "status=delivered", {"alice's thread"}),
    ("queue lag", "globexctl lag", {"globex"}),
]

# What alice's parcels are about; her address before she moved, and after.
ADDRESS = {"subject": "alice", "predicate": "has parcels sent to"}
PORTO, LISBON = "Mill Lane 3, Porto", "Rua das Flores 12, Lisbon"
SINCE_MAY, SINCE_FRIDAY = "2025-05-01T00:00:00+01:00", "2026-03-13T00:00:00+00:00"
BEFORE_THE_MOVE, AFTER_THE_MOVE = "2026-03-01T12:00:00Z", "2026-03-20T12:00:00Z"

# What a web page says of the carrier, and the facts that wait because of it.
CARRIER = "New since 1 March: parcels are collected on Saturdays, and claims close after 21 days."
WAITING = [
    ("carrier.saturday", "collects parcels on", "Saturdays"),
    ("carrier.claims", "closes claims after", "21 days"),
]
# A question, and words of the passage that answers it.
MEANT = ("an explosion risk with gadgets", "lithium")
QUEUE = "/admin/prism_graph/factversion/"

TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'prism_graph%'"
EDIT = """
UPDATE prism_graph_chunktext SET text = replace(text, 'Kestrel Street', 'Harbour Road')
WHERE tenant = 'acme'
"""


class Command(BaseCommand):
    help = (
        "Ingest the example's documents and chats, show who finds what, and state facts that change. "
        "Safe to run again."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.failures = 0
        self.heading("1. Migrate")
        call_command("migrate", verbosity=0)
        self.stdout.write(
            f"memory is kept in {connection.vendor}: {connection.settings_dict['NAME']}"
        )
        self.users = self.make_users()
        acme, alice = Scope("acme"), Scope("acme").for_owner(self.users["alice"])
        self.readers = {
            "acme": acme,
            "alice": alice,
            "bob": acme.for_owner(self.users["bob"]),
            "alice's agent": alice.for_agent("support"),
            "alice's thread": alice.for_agent("support").for_thread("chat-1"),
            "globex": Scope("globex"),
        }
        self.ingest()
        self.show_passages()
        self.show_who_sees_what()
        self.show_the_web_view()
        self.change_a_document()
        self.break_and_repair_the_index()
        self.state_facts()
        self.refuse_what_a_tool_claims()
        self.erase_a_source()
        self.erase_a_person()
        self.review_in_the_admin()
        self.search_by_meaning()
        self.look_after_it()
        if self.failures:
            raise CommandError(f"{self.failures} expectations failed.")
        self.stdout.write("\nEverything was as expected.")

    def make_users(self) -> dict[str, User]:
        users = {}
        for name, tenant in MEMBERS.items():
            users[name], _ = User.objects.get_or_create(username=name)
            users[name].groups.add(Group.objects.get_or_create(name=tenant)[0])
        for name, tenant in STAFF.items():
            reviewers, _ = Group.objects.get_or_create(name=REVIEWERS.format(tenant))
            ours = Permission.objects.filter(content_type__app_label="prism_graph")
            reviewers.permissions.set(each for each in ours if each.codename.startswith(MAY))
            users[name], _ = User.objects.update_or_create(
                username=name, defaults={"is_staff": True}
            )
            users[name].groups.set([reviewers])
        return users

    def ingest(self) -> None:
        self.heading("2. Ingest documents for two tenants and a chat of two people")
        for tenant in ("acme", "globex"):
            for path in sorted((DATA / tenant).glob("*.md")):
                self.report(f"{tenant} {path.stem}", ingest_document(Memory(Scope(tenant)), path))
        for name, report in record_chats(DATA / "chats.json", self.users):
            self.report(f"acme {name}", report)

    def show_passages(self) -> None:
        query = "refund for a damaged parcel"
        self.heading(f"3. Search as several readers: {query!r}")
        for reader, scope in self.readers.items():
            self.stdout.write(f"{reader}:")
            for hit in Memory(scope).search(query, limit=2):
                self.show(hit)

    def show_who_sees_what(self) -> None:
        self.heading("4. Who finds what, and who does not")
        wide = max(len(query) for query, _, _ in PROBES)
        self.stdout.write("  ".join([" " * wide, *self.readers]))
        for query, words, expected in PROBES:
            found = {
                reader
                for reader, scope in self.readers.items()
                if any(words in hit.chunk.text for hit in Memory(scope).search(query, limit=100))
            }
            cells = (f"{'yes' if each in found else '-':<{len(each)}}" for each in self.readers)
            self.stdout.write("  ".join([f"{query:<{wide}}", *cells]).rstrip())
            self.expect(found == expected, f"only {', '.join(sorted(expected))} may find {words!r}")

    def show_the_web_view(self) -> None:
        self.heading("5. The same over the web: the host names the tenant, the login the owner")
        here = self.get("alice", "acme.localhost", {"q": "moving to Lisbon", "tenant": "globex"})
        sources = [hit["source"] for hit in here.json()["hits"]]
        self.stdout.write(
            f"alice at acme.localhost:   {here.status_code}, first hit from {sources[:1]}"
        )
        self.expect(sources[:1] == ["chat-1"], "alice finds her own words")
        there = self.get("alice", "globex.localhost", {"q": "refund"})
        self.stdout.write(f"alice at globex.localhost: {there.status_code}")
        self.expect(there.status_code == 403, "alice is refused at the other tenant's host")
        nobody = Client(headers={"host": "acme.localhost"}).get("/search", follow=True)
        self.expect(
            nobody.status_code == 200 and nobody.request["PATH_INFO"] == "/login",
            "whoever is not logged in is asked to",
        )

    def change_a_document(self) -> None:
        self.heading("6. Ingest a changed document, then search now and as of before")
        memory, query, before = Memory(Scope("acme")), "return within days", timezone.now()
        report = ingest_document(memory, DATA / "later" / "refund-policy.md")
        self.report("acme refund-policy", report)
        self.expect(
            bool(report.added and report.kept and report.retired),
            "unchanged passages are kept, changed ones added, old ones retired",
        )
        for label, known_at, holds, lacks in (
            ("now", None, "within 45 days", "within 30 days"),
            ("as of before", before, "within 30 days", "within 45 days"),
        ):
            hits = memory.search(query, limit=100, known_at=known_at)
            texts = "\n".join(hit.chunk.text for hit in hits)
            self.stdout.write(f"{label}:")
            self.show(hits[0])
            self.expect(holds in texts and lacks not in texts, f"{label}, it says {holds!r}")

    def break_and_repair_the_index(self) -> None:
        self.heading("7. Break the index behind memory's back, notice, repair")
        memory = Memory(Scope("acme"))
        self.report(
            "acme holiday-hours", ingest_document(memory, DATA / "later" / "holiday-hours.md")
        )
        self.expect(self.finds(memory, "Kestrel Street"), "the new document is found")
        self.break_index()
        self.stdout.write("raw SQL moved the counter from Kestrel Street to Harbour Road")
        self.expect(not self.finds(memory, "Harbour Road"), "the index does not know the new text")
        self.expect(not self.index_is_sound(), "prism_graph_repair_fulltext --check reports it")
        call_command("prism_graph_repair_fulltext", stdout=self.stdout)
        self.expect(self.index_is_sound(), "after the repair the check passes")
        self.expect(self.finds(memory, "Harbour Road"), "and the new text is found")
        self.stdout.write(f"erased: {memory.erase('holiday-hours').chunks} passages")
        self.expect(not self.finds(memory, "Harbour Road"), "erased text is gone")

    def state_facts(self) -> None:
        self.heading("8. State a fact, supersede it, ask what was true and what was believed")
        memory = Memory(self.readers["alice"])
        memory.erase_fact("alice.address")
        said = self.said(memory, "Mill Lane 3")
        first = memory.assert_fact(
            "alice.address", **ADDRESS, value=PORTO, evidence=said, valid_from=SINCE_MAY
        )
        self.show_fact(first)
        said = self.said(memory, "Rua das Flores 12")
        second = memory.supersede(
            "alice.address", **ADDRESS, value=LISBON, evidence=said, valid_from=SINCE_FRIDAY
        )
        self.show_fact(second)
        self.expect(
            (first.status, second.status) == (FactStatus.ACCEPTED, FactStatus.ACCEPTED),
            "her own words are accepted",
        )
        knew = {"once": first.recorded_from, "now": None}
        self.stdout.write(f"{'sent to':<24}{'as known at first':<28}as known now")
        answers = {
            at: [memory.fact("alice.address", at=at, known_at=then).value for then in knew.values()]
            for at in (BEFORE_THE_MOVE, AFTER_THE_MOVE)
        }
        for at, (once, now) in answers.items():
            self.stdout.write(f"{'on ' + at[:10]:<24}{once:<28}{now}")
        self.expect(
            [now for _, now in answers.values()] == [PORTO, LISBON],
            "what was true at both dates, as known now",
        )
        self.expect(
            [once for once, _ in answers.values()] == [PORTO, PORTO],
            "what was believed of both dates, before she told of the move",
        )
        self.expect(Memory(self.readers["bob"]).facts("alice") == [], "bob sees none of it")

    def refuse_what_a_tool_claims(self) -> None:
        self.heading("9. A tool's result does not take the place of a person's word")
        memory = Memory(self.readers["alice"])
        origin = Origin(Trust.TOOL, writer="tool:crm")
        text = "customer=alice ship_to='Canal Row 9, Acme City'"
        found = memory.record("crm", text, origin=origin, speaker="crm", turn_id="lookup-1")
        claim = {
            **ADDRESS,
            "value": "Canal Row 9, Acme City",
            # Her own words beside it do not launder it.
            "evidence": [*found.added, *found.kept, *self.said(memory, "Rua das Flores 12")],
            "valid_from": AFTER_THE_MOVE,
        }
        refused = self.refusal(lambda: memory.supersede("alice.address", **claim))
        self.stdout.write(f"supersede: {type(refused).__name__}\n  {refused}")
        self.expect(isinstance(refused, SupersedeRefused), "it cannot supersede")
        proposed = memory.assert_fact("alice.address", **claim)
        self.show_fact(proposed)
        self.expect(proposed.status is FactStatus.PROPOSAL, "asserted, it waits as a proposal")
        self.expect(proposed.contests == 2, "and names the version that it contests")
        at = AFTER_THE_MOVE
        self.expect(
            memory.fact("alice.address", at=at).value == LISBON, "what she said stays in force"
        )
        waiting = [
            fact
            for fact in memory.facts("alice", at=at, unaccepted=True)
            if fact.status is not FactStatus.ACCEPTED
        ]
        self.expect([fact.version for fact in waiting] == [3], "a reviewer finds it waiting")
        turned_down = memory.reject(
            "alice.address", version=3, actor="maren", reason="an address of 2019"
        )
        self.show_fact(turned_down)
        self.expect(turned_down.status is FactStatus.REJECTED, "and turns it down")

    def erase_a_source(self) -> None:
        self.heading("10. Erase what a fact rests on")
        memory = Memory(self.readers["alice"])
        report = memory.erase("chat-0", actor="privacy desk", reason="request 16")
        self.stdout.write(f"erased: {report.chunks} passages, {report.facts_erased} facts")
        self.expect(
            (report.chunks, report.facts_erased) == (1, 1), "the fact goes with its only evidence"
        )
        self.expect(
            [fact.value for fact in memory.facts("alice", at=AFTER_THE_MOVE)] == [LISBON],
            "a fact with other evidence stays",
        )
        self.expect(
            memory.facts("alice", at=BEFORE_THE_MOVE) == [],
            "where her parcels went before is not known",
        )

    def erase_a_person(self) -> None:
        self.heading("11. Erase a person: bob, his agent and its threads")
        scope = self.readers["bob"]
        memory, agent = Memory(scope), Memory(scope.for_agent("support"))
        for where, words, predicate, value in (
            (memory, "allergic to latex", "is allergic to", "latex"),
            (agent, "part of recall", "owns", "a recalled power bank"),
        ):
            where.erase_fact(f"bob {predicate}")
            fact = where.assert_fact(
                f"bob {predicate}",
                subject="bob",
                predicate=predicate,
                value=value,
                evidence=self.said(where, words),
            )
            self.show_fact(fact)
        self.expect(fact.status is FactStatus.BELIEF, "what the agent concludes is a belief")
        report = memory.erase_everything(actor="privacy desk", reason="request 17")
        receipt = Receipt.objects.at(scope).latest("erased_at")
        for name, counts in (
            ("told to the caller", report.counts),
            ("receipt, at bob's level", receipt.counts),
            ("receipt, below it", receipt.counts_below),
        ):
            cells = ", ".join(f"{counts[each]} {each}" for each in report.counts if counts[each])
            self.stdout.write(f"{name:<26}{cells}")
        self.expect(
            (report.chunks, report.facts_erased, report.evidence_links) == (2, 1, 1),
            "his words and his agent's are gone, and his fact",
        )
        self.expect(
            receipt.counts_below["facts_erased"] == 1, "his agent's belief is in the receipt only"
        )
        left = [
            where.sources(retired=True) + where.facts(unaccepted=True) + where.timeline("bob")
            for where in (memory, agent)
        ]
        own = [each for found in left for each in found if each.scope.owner]
        self.expect(own == [], "nothing of his is left, at any level")
        self.expect(not self.finds(memory, "allergic to latex"), "no search finds it")
        alice = Memory(self.readers["alice"])
        self.expect(self.finds(alice, "Rua das Flores"), "and alice keeps hers")

    def review_in_the_admin(self) -> None:
        self.heading("12. Decide on a proposal in the admin")
        memory = Memory(self.readers["acme"])
        origin = Origin(Trust.TOOL, writer="tool:web")
        page = memory.record("carrier.example", CARRIER, origin=origin, turn_id="fetch-1")
        for key, predicate, value in WAITING:
            memory.erase_fact(key)
            memory.assert_fact(
                key,
                subject="the carrier",
                predicate=predicate,
                value=value,
                evidence=[*page.added, *page.kept],
            )
        maren, greta = self.staff("maren"), self.staff("greta")
        queue = maren.get(QUEUE).content.decode()
        self.expect(all(value in queue for _, _, value in WAITING), "maren of Acme sees both wait")
        foreign = greta.get(QUEUE).content.decode()
        self.expect(WAITING[0][2] not in foreign, "greta of Globex sees neither")
        waiting = FactVersion.objects.at(memory.scope).get(fact__key=WAITING[0][0])
        asked = maren.post(f"{QUEUE}decide/", {"verb": "accept", "chosen": waiting.pk})
        [announced] = asked.context_data["announced"]
        fields = {"verb": "accept", "chosen": waiting.pk, "confirmed": "yes", "reason": "I called."}
        fields[f"token_{waiting.pk}"] = announced.outcome.token
        maren.post(f"{QUEUE}decide/", fields)
        self.show_fact(memory.fact(WAITING[0][0]))
        self.expect(memory.fact(WAITING[0][0]).decided_by == "maren", "maren accepts the first")
        self.stdout.write("the second waits in the admin: see the README on how to log in")

    def staff(self, user: str) -> Client:
        client = Client(headers={"host": "acme.localhost"})
        client.force_login(self.users[user])
        return client

    def said(self, memory: Memory, words: str) -> list[Hit]:
        """Return the one passage that holds these words, to cite it."""
        hits = memory.search(words, phrases=[words], limit=1)
        self.expect(len(hits) == 1, f"a passage says {words!r}")
        return hits

    def refusal(self, write: Callable[[], FactView]) -> PrismGraphError | None:
        try:
            write()
        except PrismGraphError as refusal:
            return refusal
        return None

    def search_by_meaning(self) -> None:
        self.heading(
            "13. Search by meaning: a question that shares no telling word with its answer"
        )
        embedder = conf.embedder()
        if embedder is None:
            self.stdout.write("no embedder is installed or named: searches go by words")
            return
        self.stdout.write(f"vectors are made by {embedder.name}/{embedder.model}")
        call_command("prism_graph_embed", stdout=self.stdout)
        found = {}
        for tenant in ("acme", "globex"):
            self.stdout.write(f"{tenant}: {MEANT[0]!r}")
            found[tenant] = Memory(self.readers[tenant]).search(MEANT[0], limit=3)
            for hit in found[tenant]:
                self.stdout.write(f"  by {hit.method}")
                self.show(hit)
        self.expect(
            all(hit.method != "text" for hit in found["acme"]), "meaning has a part in each answer"
        )
        if embedder.name == "minilm":
            self.expect(MEANT[1] in found["acme"][0].chunk.text, f"acme finds {MEANT[1]!r} first")
        self.expect(
            not any(MEANT[1] in hit.chunk.text for hit in found["globex"]), "globex does not"
        )
        waiting = [Memory(scope).pending() for scope in self.readers.values()]
        self.expect(not any(waiting), "nothing waits for its vector")

    def look_after_it(self) -> None:
        self.heading("14. Look after it: what there is, and whether anything is wrong with it")
        call_command("prism_graph_stats", stdout=self.stdout)
        self.expect(self.passes("prism_graph_doctor"), "the doctor finds nothing wrong")

    def break_index(self) -> None:
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute(TRIGGERS)
                for (name,) in cursor.fetchall():
                    cursor.execute(f"DROP TRIGGER {connection.ops.quote_name(name)}")
            cursor.execute(EDIT)

    def index_is_sound(self) -> bool:
        return self.passes("prism_graph_repair_fulltext", check=True)

    def passes(self, name: str, **options: Any) -> bool:
        try:
            call_command(name, **options, stdout=self.stdout, stderr=self.stderr)
        except (CommandError, SystemExit) as refusal:
            self.stdout.write(f"{name}: {refusal}")
            return False
        return True

    def finds(self, memory: Memory, words: str) -> bool:
        return any(words in hit.chunk.text for hit in memory.search(words))

    def get(self, user: str, host: str, query: dict[str, str]) -> Any:
        client = Client(headers={"host": host})
        client.force_login(self.users[user])
        return client.get("/search", query)

    def heading(self, text: str) -> None:
        self.stdout.write(f"\n== {text}")

    def report(self, name: str, report: IngestReport) -> None:
        counts = (
            f"{len(report.added)} added, {len(report.kept)} kept, {len(report.retired)} retired"
        )
        self.stdout.write(f"{name:<28}{counts}")

    def show_fact(self, fact: FactView) -> None:
        trust = " ".join(str(cited.trust) for cited in fact.evidence)
        said = f"{fact.subject} {fact.predicate} {fact.value}"
        self.stdout.write(f"  version {fact.version} {fact.status:<9} from {trust:<10} {said}")

    def show(self, hit: Hit) -> None:
        chunk, first = hit.chunk, hit.chunk.text.strip().splitlines()[0]
        place = f"{chunk.source_key} {chunk.lines[0]}-{chunk.lines[1]}"
        self.stdout.write(f"  {hit.score:6.3f}  {place:<24} {chunk.trust:<9} {first[:50]}")

    def expect(self, outcome: bool, sentence: str) -> None:
        self.failures += not outcome
        self.stdout.write(f"  {'ok' if outcome else 'FAILED'}: {sentence}")
