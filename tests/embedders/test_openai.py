from __future__ import annotations

import base64
import gc
import json
import logging
import struct
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest

from prism_graph.embedders import complaint, make, posting, space_of, vectors
from prism_graph.embedders.openai import OpenAIEmbedder
from prism_graph.errors import (
    EmbedderUnavailable,
    EmbeddingFailed,
    InvalidSettings,
    InvalidVector,
)

KEY = "sk-nobody-may-see-this"
SECRET = "the launch code is 0000"
LOCAL = "http://localhost:8000/v1"
Answer = Callable[[httpx2.Request], httpx2.Response]


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that are waited between tries, without waiting."""
    waited: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", waited.append)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return waited


def encoded(*numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def reply(*embeddings: Any) -> httpx2.Response:
    data = [{"index": place, "embedding": each} for place, each in enumerate(embeddings)]
    return httpx2.Response(200, json={"object": "list", "data": data, "usage": {"total_tokens": 1}})


def embedder(
    *answers: httpx2.Response | Exception | Answer, **options: Any
) -> tuple[Any, list[Any]]:
    """An embedder whose server gives these answers in turn, and what it was asked."""
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        found = answers[min(len(asked), len(answers)) - 1]
        if isinstance(found, Exception):
            raise found
        return found if isinstance(found, httpx2.Response) else found(request)

    options = {"dimensions": 2, "transport": httpx2.MockTransport(answer), **options}
    return OpenAIEmbedder("small", **options), asked


def test_a_request_is_what_the_endpoint_takes() -> None:
    made, [*asked] = embedder(reply([3, 4])), []
    model, asked = made
    assert vectors(model, ["a text"])[0] == pytest.approx([0.6, 0.8])
    [request] = asked
    assert (request.method, str(request.url)) == ("POST", "https://api.openai.com/v1/embeddings")
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert json.loads(request.content) == {
        "model": "small",
        "input": ["a text"],
        "encoding_format": "base64",
    }


def test_what_is_sent_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", " other \n")
    model, asked = embedder(
        reply([1, 0]),
        base_url=LOCAL + "/",
        api_key_env="OTHER_KEY",
        send_dimensions=True,
        encoding_format=None,
        headers={"X-Team": "memory"},
    )
    model.embed(["a"])
    [request] = asked
    assert str(request.url) == LOCAL + "/embeddings"
    assert (request.headers["Authorization"], request.headers["X-Team"]) == (
        "Bearer other",
        "memory",
    )
    assert json.loads(request.content) == {"model": "small", "input": ["a"], "dimensions": 2}


def test_the_key_for_openai_goes_to_no_other_server() -> None:
    model, asked = embedder(reply([1, 0]), base_url=LOCAL)
    model.embed(["a"])
    assert "Authorization" not in asked[0].headers


@pytest.mark.parametrize("held", [None, "", " ", "ключ", "two\nlines"])
def test_without_a_key_the_variable_is_named(
    held: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    if held is not None:
        monkeypatch.setenv("OPENAI_API_KEY", held)
    model, asked = embedder(reply([1, 0]))
    with pytest.raises(EmbedderUnavailable, match="OPENAI_API_KEY"):
        vectors(model, ["a"])
    assert asked == []


def test_a_key_that_changes_is_the_next_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    model, asked = embedder(reply([1, 0]))
    model.embed(["a"])
    monkeypatch.setenv("OPENAI_API_KEY", "next")
    model.embed(["a"])
    assert [request.headers["Authorization"] for request in asked] == [
        f"Bearer {KEY}",
        "Bearer next",
    ]


def test_texts_go_in_batches_and_come_back_in_order() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        texts = json.loads(request.content)["input"]
        data = [{"index": n, "embedding": [float(text), 1.0]} for n, text in enumerate(texts)]
        return httpx2.Response(200, json={"data": data[::-1]})

    model, asked = embedder(answer, batch_size=3)
    found = vectors(model, [str(number) for number in range(7)])
    assert [round(float(x / y)) for x, y in found] == list(range(7))
    assert [len(json.loads(request.content)["input"]) for request in asked] == [3, 3, 1]
    assert vectors(model, []).shape == (0, 2)


@pytest.mark.parametrize(
    "given", [[1.0, 0.0], [1, 0], encoded(1, 0)], ids=["floats", "whole", "base64"]
)
def test_floats_and_base64_are_read_whatever_was_asked_for(given: Any) -> None:
    for asked_for in ("base64", "float", None):
        model, _ = embedder(reply(given), encoding_format=asked_for)
        assert vectors(model, ["a"]).tolist() == [[1.0, 0.0]]


def test_a_server_that_numbers_nothing_is_taken_at_its_order() -> None:
    data = [{"embedding": [1, 0]}, {"embedding": [0, 1]}]
    model, _ = embedder(httpx2.Response(200, json={"data": data}))
    assert vectors(model, ["a", "b"]).tolist() == [[1, 0], [0, 1]]


GOOD = {"index": 0, "embedding": [1, 0]}
POISON: list[Any] = [
    *(None, 7, "text", [], [GOOD, GOOD], {}, {"data": None}, {"data": {}}, {"data": "xy"}),
    *(
        {"data": data}
        for data in ([], [GOOD], [GOOD] * 3, [GOOD, None], [GOOD, []], [GOOD, {"index": 1}])
    ),
    *(
        {"data": [GOOD, {"index": index, "embedding": [0, 1]}]}
        for index in (0, 2, -1, None, True, "1", 1.0, [])
    ),
    *(
        {"data": [GOOD, {"index": 1, "embedding": embedding}]}
        for embedding in (
            *(None, [], "", {}, [1], [1, 0, 0], [0, 0], [1, None], ["1", "0"], [True, False]),
            *(
                [[1, 0]],
                [1e39, 0],
                [1, 10**400],
                "not base64",
                encoded(1),
                encoded(float("nan"), 1),
            ),
            *(encoded(float("inf"), 1), encoded(0, 0), [float("nan"), 1.0], [float("inf"), 1.0]),
        )
    ),
]


@pytest.mark.parametrize("poison", POISON, ids=[str(n) for n in range(len(POISON))])
def test_a_poisoned_reply_is_refused_without_a_word_of_the_text(poison: Any) -> None:
    body = json.dumps(poison)  # NaN and Infinity included, which are no JSON
    model, asked = embedder(httpx2.Response(200, text=body))
    with pytest.raises(InvalidVector) as refusal:
        vectors(model, [SECRET, "b"])
    assert SECRET not in str(refusal.value)
    assert len(asked) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"<html>busy</html>",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"data": ' + b"1" * 5000 + b"}",
    ],
    ids=["empty", "cut", "html", "no text", "deep", "long number"],
)
def test_a_reply_that_is_no_json_is_refused(body: bytes) -> None:
    model, _ = embedder(httpx2.Response(200, content=body))
    with pytest.raises(InvalidVector):
        vectors(model, ["a"])


def test_a_reply_without_end_is_cut_off() -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield b" " * 100_000
        raise AssertionError("all of it was read")

    model, _ = embedder(lambda request: httpx2.Response(200, content=endless()))
    with pytest.raises(InvalidVector, match="larger"):
        vectors(model, ["a"])


def test_a_reply_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def trickling() -> Iterator[bytes]:
        for _ in range(1000):
            time.monotonic()
            yield b" "

    clock = iter(range(10_000))
    monkeypatch.setattr(posting.time, "monotonic", lambda: float(next(clock)))
    model, asked = embedder(lambda request: httpx2.Response(200, content=trickling()), timeout=5.0)
    with pytest.raises(EmbedderUnavailable, match="too long"):
        vectors(model, ["a"])
    assert len(asked) == 3


PASSING = [
    *(httpx2.Response(status, text=SECRET) for status in (408, 409, 425, 429, 500, 502, 503, 529)),
    *(httpx2.ConnectError(KEY), httpx2.ReadTimeout(SECRET), httpx2.RemoteProtocolError(KEY)),
    httpx2.LocalProtocolError(f"Illegal header value {KEY}"),
]


@pytest.mark.parametrize("passing", PASSING, ids=repr)
def test_what_may_pass_is_tried_again(passing: Any, waits: list[float]) -> None:
    model, asked = embedder(passing, passing, reply([1, 0]))
    assert vectors(model, ["a"]).tolist() == [[1, 0]]
    assert (len(asked), len(waits)) == (3, 2)
    assert all(0 <= wait <= posting.LONGEST_WAIT for wait in waits)


@pytest.mark.parametrize("passing", PASSING, ids=repr)
def test_what_does_not_pass_makes_the_server_unavailable(passing: Any) -> None:
    model, asked = embedder(passing, retries=1)
    with pytest.raises(EmbedderUnavailable) as failure:
        vectors(model, [SECRET])
    assert type(failure.value) is EmbedderUnavailable
    assert len(asked) == 2
    assert not {SECRET, KEY} & set(str(failure.value).split())
    assert "status" in str(failure.value) or "reached" in str(failure.value)


def after(header: str) -> httpx2.Response:
    return httpx2.Response(429, headers={"Retry-After": header})


def test_a_server_that_asks_to_wait_is_waited_for(waits: list[float]) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=10), usegmt=True)
    past = format_datetime(datetime.now(UTC) - timedelta(days=1))
    answers = [after("3"), after(soon), after(past), after("soon"), reply([1, 0])]
    model, _ = embedder(*answers, retries=4)
    model.embed(["a"])
    assert waits[0] == 3
    assert 5 < waits[1] <= 10
    assert waits[2] == 0
    assert 0 <= waits[3] <= posting.LONGEST_WAIT


@pytest.mark.parametrize("header", ["3600", "99999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_one_that_asks_for_too_much_is_not(header: str, waits: list[float]) -> None:
    model, asked = embedder(after(header))
    with pytest.raises(EmbedderUnavailable, match="asks to wait"):
        vectors(model, ["a"])
    assert (len(asked), waits) == (1, [])


@pytest.mark.parametrize(
    ("status", "named"),
    [
        (401, "api_key_env"),
        (403, "api_key_env"),
        (404, "model"),
        (405, "base_url"),
        (302, "base_url"),
    ],
)
def test_a_wrong_setting_is_told_at_once(status: int, named: str) -> None:
    elsewhere = {"Location": "https://elsewhere.example/v1/embeddings"}
    model, asked = embedder(httpx2.Response(status, text=SECRET, headers=elsewhere))
    with pytest.raises(EmbedderUnavailable) as failure:
        vectors(model, ["a"])
    assert named in str(failure.value)
    assert SECRET not in str(failure.value)
    assert [request.url.host for request in asked] == ["api.openai.com"]


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_texts_that_the_server_refuses_are_a_failure_of_their_own(status: int) -> None:
    model, asked = embedder(httpx2.Response(status, text=SECRET))
    with pytest.raises(EmbeddingFailed) as failure:
        vectors(model, [SECRET])
    assert type(failure.value) is EmbeddingFailed
    assert str(status) in str(failure.value)
    assert SECRET not in str(failure.value)
    assert len(asked) == 1


@pytest.mark.parametrize(
    "answer",
    [reply([1, 0]), httpx2.Response(400), httpx2.ConnectError(KEY), httpx2.Response(401)],
    ids=str,
)
def test_neither_key_nor_text_is_logged_or_shown(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        model, _ = embedder(answer, headers={"X-Token": KEY})
        shown = repr(model) + str(vars(model))
        try:
            vectors(model, [SECRET])
        except EmbeddingFailed:
            shown += traceback.format_exc()
    assert KEY not in caplog.text + shown
    assert SECRET not in caplog.text + shown.replace("vectors(model, [SECRET])", "")


def test_its_space_is_named_by_model_and_width() -> None:
    assert space_of(OpenAIEmbedder()) == "openai/text-embedding-3-small/1536"


@pytest.mark.parametrize(
    "options",
    [
        *(
            {"base_url": url}
            for url in ("", "localhost", "ftp://x/v1", "https://", "http://x:port", 7)
        ),
        *(
            {"base_url": f"https://{rest}"}
            for rest in ("user:sk-1@x/v1", "x/v1?key=sk-1", "x#y", "[::1")
        ),
        *({"api_key_env": name} for name in ("sk-proj-1", "", "A B", 7)),
        *({"batch_size": size} for size in (0, -1, "8", True, None, 1.5)),
        *(
            {"timeout": seconds}
            for seconds in (0, -1.0, "9", True, None, float("nan"), float("inf"))
        ),
        *({"retries": count} for count in (-1, "2", True, None)),
        *({"encoding_format": name} for name in ("base32", "", 7)),
        *({"send_dimensions": value} for value in (1, None, "yes")),
        *({"headers": value} for value in ("x", [], {"X": 7}, {"X": "é"}, {"": "x"}, {7: "x"})),
    ],
    ids=str,
)
def test_a_wrong_option_is_named(options: dict[str, Any]) -> None:
    value = {"provider": "openai", "options": options}
    assert f"'{next(iter(options))}'" in (complaint(value) or "")
    assert "sk-" not in (complaint(value) or "")
    with pytest.raises(InvalidSettings):
        make(value)
    with pytest.raises(InvalidSettings):
        OpenAIEmbedder(**options)


@pytest.mark.parametrize("model", ["", [], 7, "a\nb"])
def test_a_model_that_is_no_name_is_refused(model: Any) -> None:
    assert "'model'" in (complaint({"provider": "openai", "model": model}) or "")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    connections = 0

    def setup(self) -> None:
        Handler.connections += 1
        super().setup()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = [{"index": n, "embedding": encoded(n + 1, 0)} for n in range(len(asked["input"]))]
        body = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/v1"
        running.shutdown()
        thread.join()


def test_a_real_server_is_asked_over_one_connection_and_left_behind(server: str) -> None:
    options = {"base_url": server, "batch_size": 2, "api_key_env": "OPENAI_API_KEY"}
    model = make({"provider": "openai", "dimensions": 2, "options": options})
    before = Handler.connections
    assert vectors(model, ["a", "b", "c"]).tolist() == [[1, 0]] * 3
    assert Handler.connections == before + 1
    # Its connections end with it: an open one would be a warning, and that an error.
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_server_that_is_gone_is_unavailable(server: str) -> None:
    gone = server.replace(server.rsplit(":", 1)[1].split("/")[0], "1")
    model = OpenAIEmbedder(dimensions=2, base_url=gone, retries=1)
    with pytest.raises(EmbedderUnavailable, match="ConnectError"):
        vectors(model, ["a"])
