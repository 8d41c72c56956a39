"""What all commands have in common."""

from __future__ import annotations

import io
from argparse import ArgumentParser
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import OutputWrapper

from prism_graph import Scope
from prism_graph.errors import InvalidScope
from prism_graph.management.base import MemoryCommand


class Command(MemoryCommand):
    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        self.add_scope_arguments(parser)

    def answer(self, using: str, options: Any) -> dict[str, Any]:
        return {"using": using, "scope": self.scope_of(options).columns, "text": "\x7f\u202eé"}

    def show(self, answer: Any) -> None:
        self.say(answer["text"])


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(Command(), *arguments, stdout=out, no_color=True)
    return out.getvalue()


@pytest.mark.django_db
class TestOutput:
    def test_people_see_what_a_terminal_would_hide(self):
        assert run("--tenant", "acme") == "\\u{007F}\\u{202E}é\n"

    def test_json_is_one_object_of_visible_ascii(self):
        said = run("--tenant", "acme", "--json")
        assert said.endswith("}\n")
        assert all(" " <= character <= "~" for character in said[:-1])

    def test_a_terminal_that_knows_ascii_only_is_no_error(self):
        raw = io.BytesIO()
        command = Command(stdout=io.TextIOWrapper(raw, encoding="ascii"))
        command.say("é")
        command.stdout.flush()
        assert raw.getvalue() == b"\\xe9\n"
        assert isinstance(command.stdout, OutputWrapper)


@pytest.mark.django_db
class TestScope:
    def test_the_options_name_it(self):
        command, parser = Command(), ArgumentParser()
        command.add_scope_arguments(parser)  # type: ignore[arg-type]
        given = ["--tenant", "acme", "--owner", "auth.user/7", "--agent", "support"]
        scope = command.scope_of(vars(parser.parse_args(given)))
        assert scope == Scope.from_columns("acme", "auth.user/7", "support", "")

    @pytest.mark.parametrize("name", ["tenant", "owner", "agent", "thread"])
    def test_an_empty_part_is_refused_and_never_stands_for_the_level_above(self, name):
        options = {"tenant": "acme", "owner": "ana", "agent": "support", "thread": "t"}
        with pytest.raises(InvalidScope, match=f"--{name} is empty"):
            Command().scope_of({**options, name: ""})

    def test_a_scope_that_is_none_ends_the_command_in_words(self):
        with pytest.raises(CommandError, match="needs an owner") as refused:
            run("--tenant", "acme", "--agent", "support")
        assert refused.value.returncode == 1
        assert refused.value.__cause__ is None

    def test_a_tenant_must_be_named(self):
        with pytest.raises(CommandError, match="--tenant"):
            run()
