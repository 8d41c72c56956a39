"""Stored values as HTML: text escaped with nothing hidden, and words beside every colour."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from prism_graph import clock, visible
from prism_graph.policy import FactStatus
from prism_graph.records import FactView
from prism_graph.scope import Scope
from prism_graph.trust import Trust

if TYPE_CHECKING:
    # Templates load this module where a project's models are missing, too.
    from prism_graph.review import Change

SHORT: Final = 120
SEPARATOR: Final = " › "
_BREAKS: Final = re.compile(r"\r\n|[\n\t]")
_TAGS: Final = {
    visible.Look.PLAIN: "{}",
    visible.Look.MATCH: "<mark>{}</mark>",
    visible.Look.NAMED: '<span class="pg-named" title="{1}">{0}</span>',
}


def text(value: str, matches: Iterable[tuple[int, int]] = ()) -> SafeString:
    """Return a stored text: escaped, in its own direction, invisible characters named in place."""
    shown = format_html_join(
        "",
        "{}",
        (
            (format_html(_TAGS[piece.look], piece.text, piece.note),)
            for piece in visible.pieces(value, matches)
        ),
    )
    return format_html('<span class="pg-text" dir="auto">{}</span>', shown)


def short(value: str, length: int = SHORT) -> SafeString:
    """Return the beginning of a stored text, in one line."""
    line = _BREAKS.sub(" ⏎ ", value[:length])
    return text(line if len(value) <= length else line + "…")


def badge(value: FactStatus | Trust | str | None, note: str = "") -> SafeString:
    """Return a word with a colour of its own."""
    name = str(value) if value is not None else "unknown"
    return format_html('<span class="pg-badge pg-{}" title="{}">{}</span>', name, note, name)


def writer(trust: Trust | None, name: str) -> SafeString:
    """Return who wrote something, and how far that is trusted."""
    return format_html("{} {}", badge(trust, "effective trust"), short(name, 40))


def spelt(value: Scope) -> str:
    """Return a scope as plain text, outermost level first."""
    return SEPARATOR.join(part for part in map(str, value.parts) if part)


def scope(value: Scope) -> SafeString:
    """Return where something stands, as `spelt`, with long parts cut."""
    parts = ((short(part, 60),) for part in map(str, value.parts) if part)
    return format_html_join(SEPARATOR, "{}", parts)


def instant(value: datetime | None) -> SafeString | str:
    """Return an instant in UTC to the second, exact for machines; a dash for none."""
    if value is None:
        return "–"
    exact = clock.render(value)
    return format_html(
        '<time datetime="{}" title="{}">{} UTC</time>', exact, exact, exact[:19].replace("T", " ")
    )


def period(start: datetime | None, end: datetime | None) -> SafeString:
    """Return an interval [start, end)."""
    return format_html("{} to {}", instant(start), instant(end) if end else "open end")


def change(value: Change) -> SafeString:
    """Return what happens to one version, in a sentence."""
    before, after = value.before, value.after
    if before is None or after is None:
        number = (before or after).version  # type: ignore[union-attr]
        return format_html("Version {} is erased.", number)
    parts = [format_html("Version {}:", before.version)]
    if before.status is not after.status:
        parts.append(format_html("{} becomes {}.", badge(before.status), badge(after.status)))
    held, holds = _held(before), _held(after)
    if held != holds:
        parts.append(_movement(held, holds))
    return format_html_join(" ", "{}", ((part,) for part in parts))


def _held(view: FactView) -> tuple[datetime, datetime | None] | None:
    """Return when a version holds; None when it never does."""
    empty = view.valid_to is not None and view.valid_to <= view.valid_from
    if view.status is not FactStatus.ACCEPTED or empty:
        return None
    return view.valid_from, view.valid_to


def _movement(
    held: tuple[datetime, datetime | None] | None, holds: tuple[datetime, datetime | None] | None
) -> SafeString:
    if holds is None:
        return format_html(
            "It held {} and closes: it no longer holds.", period(*held or (None, None))
        )
    if held is None:
        return format_html("It holds {}.", period(*holds))
    closes = holds[1] is not None and (held[1] is None or holds[1] < held[1])
    word = "It closes" if closes else "It reopens"
    return format_html("{}: it held {} and will hold {}.", word, period(*held), period(*holds))
