"""Text that a stranger wrote is inert on every page: it runs nothing, hides nothing, overdraws nothing."""

from __future__ import annotations

import base64
from typing import Any, Final

import pytest

from prism_graph import Memory, Origin, Trust
from prism_graph.chunking import WholeChunker
from prism_graph.models import Chunk, FactVersion, Receipt, Source
from prism_graph.visible import MAX_MARKS
from tests.admin.reviewing import ANA, TOOL, address, change, version
from tests.browser.pages import QUEUE, REASON, choose
from tests.browser.window import Window

pytestmark = pytest.mark.browser
SCRIPT: Final = (
    "</textarea></title><script>alert(1)</script><img src=x onerror=alert(2)>"
    "<svg onload=alert(3)></svg>\" onfocus='alert(4)' autofocus {{ 7|add:7 }} javascript:alert(5)"
)
BIDI: Final = "pay \u202eevil\u202c \u2066now\u2069 \u200bto\u200f"
CONTROLS: Final = r"[\u202a-\u202e\u2066-\u2069\u200b-\u200f\u2028\u2029]"
MARKS: Final = "Z" + "\u0301" * 10_000
FEW: Final = "Z" + "\u0301" * 120  # where no more fit
# Show or hide a part, and wait until that is drawn.
LOOK: Final = """async (each, visibility) => {
  each.style.visibility = visibility;
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
}"""
# Where two pictures differ by more than a shade, as [left, top, right, bottom]; null for nowhere. Round
# corners are drawn anew with every picture.
DIFFERENCE: Final = """async pictures => {
  const [one, other] = await Promise.all(pictures.map(async data => {
    const image = new Image();
    image.src = 'data:image/png;base64,' + data;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
  }));
  let box = null;
  const [whole, others] = [one, other].map(picture => new Uint32Array(picture.data.buffer));
  for (let at = 0; at < one.data.length; at += 4) {
    if (whole[at / 4] === others[at / 4]) continue;
    if ([0, 1, 2].every(part => Math.abs(one.data[at + part] - other.data[at + part]) < 16)) continue;
    const x = (at / 4) % one.width, y = Math.floor(at / 4 / one.width);
    box = box || [x, y, x, y];
    box = [Math.min(box[0], x), box[1], Math.max(box[2], x), y];
  }
  return box;
}"""


def hostile(text: str, short: str) -> FactVersion:
    """Store a text in every place that takes one: as it is, or a short form where little fits."""
    memory, origin = Memory(ANA), Origin(Trust.TOOL, short)
    given: dict[str, Any] = {
        "origin": origin,
        "title": short,
        "uri": short,
        "metadata": {"found": short},
    }
    if text == MARKS:
        given["chunker"] = WholeChunker()
    page = memory.ingest(f"page {short}", f"# {short}\n\n{text}\n", **given).added
    turn = memory.record(f"chat {short}", text, origin=origin, speaker=short, turn_id="1").added
    claim = {"subject": short, "predicate": short, "evidence": [*page, *turn][:50]}
    memory.assert_fact(f"key {short}", **claim, value=short)
    memory.reject(f"key {short}", version=1, actor=short, reason=short)
    memory.assert_fact(f"key {short}", **claim, value=f"{short} again")
    return version(ANA, f"key {short}", 2)


def pages(row: FactVersion) -> list[str]:
    """Return the paths of all pages about what `hostile` stored."""
    chunks, sources = Chunk.objects.at(ANA), Source.objects.at(ANA)
    return [
        *(address(model) for model in ("source", "chunk", "receipt")),
        f"{QUEUE}?standing=any",
        *(change(each) for each in (row, *sources, *chunks.order_by("number")[:4])),
        *(change(each) for each in Receipt.objects.at(ANA)),
        address("factversion", row.pk, "timeline"),
        f"{address('chunk', 'explore')}?granted=0&owner=ana&query=alert+evil+Z+pay",
    ]


class TestMarkup:
    def test_it_is_text_on_every_page(self, carol: Window) -> None:
        row = hostile(SCRIPT, SCRIPT)
        Memory(ANA).record("other", SCRIPT, origin=TOOL)
        Memory(ANA).erase("other", actor=SCRIPT[:150], reason=SCRIPT)
        for path in pages(row):
            carol.open(path)
            planted = "[src=x], svg[onload], [onfocus], [autofocus], #content script"
            assert carol.count(planted) == 0, path
            assert "14" not in carol.evaluate("() => document.title"), path
            assert "<" not in carol.evaluate("() => document.title"), path
            if path != address("receipt"):
                assert "<script>alert(1)" in carol.text(), path
        assert carol.alarms == []

    def test_it_is_text_where_it_is_decided_on(self, carol: Window) -> None:
        row = hostile(SCRIPT, SCRIPT)
        choose(carol.open(QUEUE), "Accept", row)
        assert SCRIPT[:40] in carol.text(".pg-announced")
        carol.fill(REASON, SCRIPT).click("Accept")
        assert "1 done" in carol.text()
        fact = Memory(ANA).fact(f"key {SCRIPT}")
        assert fact.reason == SCRIPT
        carol.open(address("factversion", fact.id, "change"))
        assert carol.text("#standings + div tr:nth-child(2)").endswith(SCRIPT)


def test_what_would_turn_or_hide_text_is_named_on_every_page(carol: Window) -> None:
    row = hostile(BIDI, BIDI)
    for path in pages(row):
        carol.open(path)
        raw = carol.evaluate(f"() => /{CONTROLS}/u.test(document.documentElement.innerText)")
        assert not raw, path
        if path != address("receipt") and not Receipt.objects.at(ANA).filter(pk__in=[path]):
            assert "U+202E" in carol.texts(".pg-named"), path


@pytest.mark.parametrize("name", ["fact", "list", "passage", "confirm", "timeline", "explorer"])
def test_piled_up_marks_draw_nothing_outside_their_box(carol: Window, name: str) -> None:
    row = hostile(MARKS, FEW)
    passage = Chunk.objects.at(ANA).earliest("number")
    paths = {
        "fact": change(row),
        "list": QUEUE,
        "passage": change(passage),
        "confirm": change(row),
        "timeline": address("factversion", row.pk, "timeline"),
        "explorer": f"{address('chunk', 'explore')}?granted=0&owner=ana&query=Z",
    }
    carol.open(paths[name])
    if name == "confirm":
        carol.click("Accept…")
    marked = "#content .pg-text:has(.pg-named)"
    places = carol.count(marked)
    assert places
    for place in range(min(places, 5)):
        drawn, allowed = drawing(carol, f"{marked} >> nth={place}")
        assert drawn is not None
        assert drawn[1] >= allowed["y"] - 7, (place, drawn, allowed)
        assert drawn[3] <= allowed["y"] + allowed["height"] + 7, (place, drawn, allowed)
    whole = name in {"fact", "passage", "explorer"}
    assert (f"+{10_000 - MAX_MARKS}" in carol.texts(".pg-named")) is whole


def drawing(window: Window, selector: str) -> tuple[Any, Any]:
    """Return the box of all pixels that a text touches, and the box in which it may."""

    def pictures(page: Any) -> list[str]:
        text = page.locator(selector)
        text.scroll_into_view_if_needed()
        taken = []
        for visibility in ("visible", "hidden"):
            text.evaluate(LOOK, visibility)
            taken.append(page.screenshot())
        text.evaluate(LOOK, "")
        return [base64.b64encode(each).decode() for each in taken]

    block = "td, th, dd, p, li, h2, h3, figcaption, blockquote"
    taken = window.do(pictures)
    found = window.do(
        lambda page: page.locator(selector).evaluate(
            "(each, block) => { const box = each.closest(block).getBoundingClientRect();"
            " return {y: box.y, height: box.height} }",
            block,
        )
    )
    return window.evaluate(DIFFERENCE, taken), found


class TestMuchText:
    def test_a_source_of_a_megabyte_leaves_its_pages_small(self, carol: Window) -> None:
        words = "".join(f"Paragraph {n} of a long report.\n\n" * 4 for n in range(7_500))[
            :1_000_000
        ]
        report = Memory(ANA).ingest("long", words, origin=TOOL)
        assert len(words) == 1_000_000
        assert len(report.added) > 100
        for path in (change(Source.objects.at(ANA).get()), address("chunk")):
            carol.open(path)
            assert len(carol.evaluate("() => document.documentElement.outerHTML")) < 100_000
        carol.open(f"{address('chunk', 'explore')}?granted=0&owner=ana&query=paragraph+7000")
        assert carol.count(".pg-hits blockquote") == 20
        carol.open(change(Source.objects.at(ANA).get())).click("Erase…").click("Erase")
        assert "1 done" in carol.text()

    def test_a_claim_on_a_megabyte_of_evidence_can_still_be_decided_on(self, carol: Window) -> None:
        memory = Memory(ANA)
        long = "w" * 30_000 + "\u202e" * 4_000  # a word that no line holds, and what takes room
        cited = [
            each
            for number in range(25)
            for each in memory.record("chat", f"{number} {long}", origin=TOOL).added
        ]
        claim = {"subject": "ana", "predicate": "said", "evidence": cited[:50]}
        memory.assert_fact("much", **claim, value="w" * 8_000)
        carol.open(change(version(ANA, "much", 1)))
        widths = "() => [document.documentElement.scrollWidth, window.innerWidth]"
        assert len(set(carol.evaluate(widths))) == 1, "it does not scroll sideways"
        tallest = "() => Math.max(...[...document.querySelectorAll('blockquote')].map(e => e.offsetHeight))"
        assert carol.evaluate(tallest) < 450
        carol.click("Reject…").click("Reject")
        assert "1 done" in carol.text()
