from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management import BaseCommand, CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from helpdesk.importing import ingest_document, record_chats
from prism_graph import Memory, Scope
from prism_graph.records import Hit, IngestReport

DATA = settings.BASE_DIR / "data"
MEMBERS = {"alice": "acme", "bob": "acme", "gina": "globex"}

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

TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'prism_graph%'"
EDIT = """
UPDATE prism_graph_chunktext SET text = replace(text, 'Kestrel Street', 'Harbour Road')
WHERE tenant = 'acme'
"""


class Command(BaseCommand):
    help = "Ingest the example's documents and chats, and show who finds what. Safe to run again."

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
        if self.failures:
            raise CommandError(f"{self.failures} expectations failed.")
        self.stdout.write("\nEverything was as expected.")

    def make_users(self) -> dict[str, User]:
        users = {}
        for name, tenant in MEMBERS.items():
            users[name], _ = User.objects.get_or_create(username=name)
            users[name].groups.add(Group.objects.get_or_create(name=tenant)[0])
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
        self.stdout.write(" " * 44 + "".join(f"{reader:<16}" for reader in self.readers))
        for query, words, expected in PROBES:
            found = {
                reader
                for reader, scope in self.readers.items()
                if any(words in hit.chunk.text for hit in Memory(scope).search(query, limit=100))
            }
            cells = "".join(f"{'yes' if reader in found else '-':<16}" for reader in self.readers)
            self.stdout.write(f"{query:<44}{cells}")
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

    def break_index(self) -> None:
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute(TRIGGERS)
                for (name,) in cursor.fetchall():
                    cursor.execute(f"DROP TRIGGER {connection.ops.quote_name(name)}")
            cursor.execute(EDIT)

    def index_is_sound(self) -> bool:
        try:
            call_command(
                "prism_graph_repair_fulltext", check=True, stdout=self.stdout, stderr=self.stderr
            )
        except (CommandError, SystemExit) as refusal:
            self.stdout.write(f"--check: {refusal}")
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

    def show(self, hit: Hit) -> None:
        chunk, first = hit.chunk, hit.chunk.text.strip().splitlines()[0]
        place = f"{chunk.source_key} {chunk.lines[0]}-{chunk.lines[1]}"
        self.stdout.write(f"  {hit.score:6.3f}  {place:<24} {chunk.trust:<9} {first[:70]}")

    def expect(self, outcome: bool, sentence: str) -> None:
        self.failures += not outcome
        self.stdout.write(f"  {'ok' if outcome else 'FAILED'}: {sentence}")
