from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from prism_graph.chunking.lines import LineIndex
from prism_graph.chunking.outline import outline
from tests.chunking.texts import documents

LIBRARY = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table")
LIBRARY.disable(["reference", "inline", "text_join"])
KINDS = {
    "heading_open": "heading",
    "paragraph_open": "prose",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
}
Seen = list[tuple[int, str, int, str, list[int]]]

# Three containers deep at the most, and no line of odd white space: there the two may differ.
prefixes = st.lists(st.sampled_from(["> ", "- ", "  ", "    ", "2) "]), max_size=2).map("".join)
contents = st.sampled_from(
    ["", "a", "# h", "## b #", "===", "---", "- x", "* y", "1. z", "+", "\tt", ">", "> q", "```", "~~~",
     "|a|b|", "|-|-|", "a|b", ":-:|-", "<div>", "<b>", "<!--", "-->", "* * *", "[a]: b", "[", "x\x0c"]
)  # fmt: skip
ends = st.sampled_from(["\n", "\n", "\n\n", "\r\n", "\r"])
blocks = st.lists(st.tuples(prefixes, contents, ends), max_size=14).map(
    lambda lines: "".join("".join(line) for line in lines)
)


def library_outline(text: str) -> Seen:
    seen: Seen = []
    tokens = LIBRARY.parse(text)
    for position, token in enumerate(tokens):
        if token.level == 0 and token.nesting >= 0:
            assert token.map
            kind = KINDS.get(token.type, "lines")
            level = int(token.tag[1]) if kind == "heading" else 0
            title = tokens[position + 1].content if kind == "heading" else ""
            seen.append((token.map[0], kind, level, title, []))
        elif token.level == 1 and token.type == "list_item_open":
            assert token.map
            seen[-1][4].append(token.map[0])
    return seen


def own_outline(text: str, window: int) -> Seen:
    marks = outline(text, LineIndex(text).starts, 0, window)
    return [
        (mark.line, mark.kind.value, mark.level, mark.title, list(mark.items)) for mark in marks
    ]


@given(blocks, st.sampled_from([1, 10, 65_536]))
def test_the_blocks_are_those_of_the_library_whatever_the_window(text: str, window: int) -> None:
    assert own_outline(text, window) == library_outline(text)


@given(documents, st.integers(1, 100))
def test_the_window_never_changes_the_outline(text: str, window: int) -> None:
    assert own_outline(text, window) == own_outline(text, 65_536)


def test_what_is_nested_deep_does_not_swallow_what_follows() -> None:
    for deep in (">" * 10_000 + "\n\n", "- " * 300 + "x\n\n", "> - " * 300 + "x\n\n"):
        assert [mark[3] for mark in own_outline(deep + "# h\n", 65_536)] == ["", "h"]
