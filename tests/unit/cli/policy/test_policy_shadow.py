"""`sallyport policy shadow status`: what gates have counted, added up, and a verdict."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NoReturn

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from admission.bundles.shadow import Shadow
from cli.policy.shadow import gate_metrics
from cli.policy.shadow.gate_metrics import read_metrics
from tests.unit.cli.conftest import Run
from webhooks.bundle_metrics import ShadowCollector

Serve = Callable[[Shadow | None], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve the metrics of a gate; gives its address."""
    servers: list[ThreadingHTTPServer] = []

    def start(shadow: Shadow | None) -> str:
        registry = CollectorRegistry()
        if shadow is not None:
            registry.register(ShadowCollector(shadow))

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                content = generate_latest(registry)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        servers.append(server)
        Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/metrics"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def shadow(
    compared: int = 100, revision: str = "abc", dropped: int = 0, against: str = "", **changes: int
) -> Shadow:
    """Return a shadow that has counted this."""

    def never() -> NoReturn:
        raise AssertionError

    made = Shadow(never, never, never, 0.5)
    made.revision = revision
    made.counts.compared, made.counts.dropped = compared, dropped
    made.counts.against = against
    for effect, count in changes.items():
        made.counts.changes[effect, ""] = count
        made.counts.changes[effect, "rules/acme/labels"] = count
    return made


def test_gates_are_added_up(run: Run, serve: Serve) -> None:
    """What two gates counted is what the cluster saw."""
    urls = [serve(shadow(newlyRefused=2)), serve(shadow(5, newlyRefused=1, newlyWarned=4))]
    flags = [flag for url in urls for flag in ("--metrics", url)]
    done = run("policy", "shadow", "status", *flags, "-o", "json")
    found = json.loads(done.out)
    assert (done.code, found["compared"]) == (1, 105)
    assert [(c["effect"], c["rule"], c["reviews"]) for c in found["changes"]] == [
        ("newlyRefused", "", 3),
        ("newlyRefused", "rules/acme/labels", 3),
        ("newlyWarned", "", 4),
        ("newlyWarned", "rules/acme/labels", 4),
    ]
    assert found["verdict"].startswith("Do not promote it yet: 3 would newly be refused")


def test_nothing_newly_refused_says_promote(run: Run, serve: Serve) -> None:
    """As the last line."""
    done = run("policy", "shadow", "status", "--metrics", serve(shadow()))
    verdict = "Promote it: nothing would newly be refused (100 reviews compared, 0 not looked at)."
    assert (done.code, done.out.splitlines()[-1]) == (0, verdict)


@pytest.mark.parametrize(("compared", "dropped"), [(1, 999_999), (99, 0), (1000, 9001)])
def test_too_little_seen_is_no_reason_to_promote(
    run: Run, serve: Serve, compared: int, dropped: int
) -> None:
    """It says how much was seen, and how much is asked for."""
    url = serve(shadow(compared, dropped=dropped))
    done = run("policy", "shadow", "status", "--metrics", url)
    seen = f"({compared:,} reviews compared, {dropped:,} not looked at, "
    assert (done.code, "Promote it" in done.out) == (2, False)
    assert seen in done.out
    assert "but 100 reviews and 10% are to be compared" in done.out


def test_a_tenth_of_enough_reviews_will_do(run: Run, serve: Serve) -> None:
    """The budget lets it sample."""
    url = serve(shadow(1000, dropped=9000))
    done = run("policy", "shadow", "status", "--metrics", url)
    assert (done.code, "Promote it: " in done.out) == (0, True)


def test_the_proxy_of_the_environment_is_not_asked(
    run: Run, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would learn the address, and could answer in the gate's place."""
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("http_proxy", serve(shadow(newlyRefused=1)).removesuffix("/metrics"))
    done = run("policy", "shadow", "status", "--metrics", serve(shadow()))
    assert (done.code, "Promote it: " in done.out) == (0, True)


def answered(*sent: bytes, pause_s: float = 0.0) -> Iterator[str]:
    """Yield the address of a server that sends these one after the other."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            with suppress(OSError), listening.accept()[0] as connection:
                connection.recv(65536)
                for each in sent:
                    connection.sendall(each)
                    time.sleep(pause_s)

        thread = Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/metrics"


def test_an_answer_that_trickles_is_given_up() -> None:
    """Each piece comes soon; all of it never does."""
    head = b"HTTP/1.1 200 OK\r\n", *(b"x: y\r\n",) * 200
    for url in answered(*head, pause_s=0.1):
        families, problem = read_metrics(url, seconds=0.5)
        assert (families, problem) == ([], "it does not answer: not within 0.5 s")


def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut off, it would be read as if it were all."""
    monkeypatch.setattr(gate_metrics, "MOST_BYTES", 1 << 20)
    piece = b"# x\n" * 1024
    for url in answered(b"HTTP/1.1 200 OK\r\n\r\n", *(piece,) * 300):
        assert read_metrics(url, seconds=60.0) == ([], "its answer is larger than 1 MiB")


def test_metrics_of_another_server_are_not_a_gates(serve: Serve) -> None:
    """Another's numbers are not taken for this gate's."""
    place = f"Location: {serve(shadow())}\r\nContent-Length: 0\r\n\r\n".encode()
    for url in answered(b"HTTP/1.1 302 Found\r\n" + place):
        families, problem = read_metrics(url)
        assert (families, problem) == ([], "it does not answer: Found")


def test_what_is_not_known_is_no_reason_to_promote(run: Run, serve: Serve) -> None:
    """A gate without a candidate, with another, that is away, or one that has seen nothing."""
    cases = {
        "no candidate rides along": [serve(None)],
        "different candidates": [serve(shadow()), serve(shadow(revision="def"))],
        "different bundles in force": [serve(shadow(against="a")), serve(shadow(against="b"))],
        "does not answer": ["http://127.0.0.1:9/metrics"],
        "no review was compared": [serve(shadow(0))],
        "is being loaded": [serve(shadow(0, revision=""))],
    }
    for said, urls in cases.items():
        flags = [flag for url in urls for flag in ("--metrics", url)]
        done = run("policy", "shadow", "status", *flags)
        assert (done.code, said in done.out) == (2, True), done.out


def test_answers_that_are_missing_are_told(run: Run, serve: Serve) -> None:
    """Then nothing is called ready."""
    made = shadow()
    made.counts.unread["rules/acme/names"] = 3
    done = run("policy", "shadow", "status", "--metrics", serve(made))
    assert done.code == 2
    assert "3 without the rule: rules/acme/names" in done.out
    assert "3 answers are missing" in done.out


def test_an_address_that_is_none_is_wrong_usage(run: Run) -> None:
    """Files are not read."""
    done = run("policy", "shadow", "status", "--metrics", "file:///etc/passwd")
    assert (done.code, "give http://HOST:PORT/metrics" in done.err) == (64, True)
