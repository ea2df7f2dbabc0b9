"""Syslog: messages of RFC 5424, framed as RFC 5425 says, in a real rsyslog."""

import asyncio
import json
import re
import shutil
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from audit.notifications.notice import Notice
from audit.notifications.sink import SinkAwayError
from audit.notifications.sinks.syslog import (
    MOST_BYTES,
    SyslogSink,
    octet_counted,
    syslog_message,
)
from audit.notifications.sinks.tls_socket import server_of
from core.weights.documents.events import Severity
from tests.harness.programs.pki import Authority
from tests.harness.programs.rsyslog import Rsyslog
from tests.unit.audit.notifications.notices import make_notice

ABNF = re.compile(
    rb"<(?P<pri>(0|[1-9]\d{0,2}))>1"
    rb" (?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d))"
    rb" (?P<host>[\x21-\x7e]{1,255}) (?P<app>[\x21-\x7e]{1,48})"
    rb" (?P<procid>[\x21-\x7e]{1,128}) (?P<msgid>[\x21-\x7e]{1,32}) - (?P<msg>.*)",
    re.DOTALL,
)
"""RFC 5424, section 6, with no structured data."""


@pytest.fixture(name="rsyslog")
def run_rsyslog(tmp_path: Path, authority: Authority) -> Iterator[Rsyslog]:
    """Run one."""
    server = Rsyslog(tmp_path / "rsyslog", authority)
    yield server
    server.stop()


async def received(rsyslog: Rsyslog, count: int) -> list[dict[str, str]]:
    """Return what rsyslog wrote, once it is so many messages."""
    async with asyncio.timeout(20):
        while len(rsyslog.received()) < count:  # noqa: ASYNC110  Another process writes it.
            await asyncio.sleep(0.02)
    return rsyslog.received()


@pytest.mark.parametrize(
    ("severity", "number"),
    [(Severity.CRITICAL, 106), (Severity.HIGH, 107), (Severity.MEDIUM, 108), (Severity.LOW, 109)],
)
def test_message_is_what_rfc_5424_says(severity: Severity, number: int) -> None:
    """Of the facility log audit; the cluster is the host, the event the MSGID, the text JSON."""
    notice = make_notice(severity=severity, title="näïve")
    found = ABNF.fullmatch(syslog_message(notice))
    assert found is not None
    assert int(found["pri"]) == number
    names = (found["time"].decode(), found["host"], found["app"], found["procid"], found["msgid"])
    assert names == (notice.time, b"prod", b"sallyport", b"-", b"finding")
    assert found["msg"].isascii()
    assert json.loads(found["msg"]) == msgspec.to_builtins(notice)


def test_cluster_that_is_no_name_of_a_host_is_left_out() -> None:
    """As the nil value."""
    found = ABNF.fullmatch(syslog_message(make_notice(cluster="")))
    assert found is not None
    assert found["host"] == b"-"


def test_long_notice_is_cut_to_what_receivers_take() -> None:
    """Its texts and lists, and neither its id nor what names it."""
    notice = make_notice(detail="ä" * 2000, remedy="ö" * 2000, pods=["p" * 253] * 20)
    message = syslog_message(notice)
    assert len(message) <= MOST_BYTES
    found = ABNF.fullmatch(message)
    assert found is not None
    assert json.loads(found["msg"])["id"] == notice.id


def test_frame_counts_octets() -> None:
    """RFC 5425, 4.3.1."""
    assert octet_counted(b"<1>1 x") == b"6 <1>1 x"


async def test_rsyslog_takes_every_notice(rsyslog: Rsyslog, authority: Authority) -> None:
    """Each field where it belongs, those of a batch apart."""
    sink = SyslogSink(server_of(rsyslog.address, authority.certificate_path, None))
    notices = [make_notice(number) for number in range(sink.most)]
    await sink.send(notices)
    rows = await received(rsyslog, len(notices))
    assert [json.loads(row["msg"])["id"] for row in rows] == [each.id for each in notices]
    first = rows[0]
    assert (first["hostname"], first["app-name"], first["msgid"]) == (
        "prod",
        "sallyport",
        "finding",
    )
    assert (first["protocol-version"], first["pri"]) == ("1", "107")


async def test_rsyslog_that_demands_a_certificate_is_shown_one(
    tmp_path: Path, authority: Authority, secrets: Path
) -> None:
    """Without one nothing is taken for sent."""
    server = Rsyslog(tmp_path / "strict", authority, demands_client=True)
    sink = SyslogSink(server_of(server.address, authority.certificate_path, secrets))
    try:
        with pytest.raises(SinkAwayError):
            await sink.send([make_notice()])
        pair = authority.issue_client("auditor", "sallyport://prod/auditor")
        shutil.copy(pair.certificate, secrets / "tls.crt")
        shutil.copy(pair.key, secrets / "tls.key")
        await sink.send([make_notice(1)])
        assert len(await received(server, 1)) == 1
    finally:
        server.stop()


Serve = Callable[[ssl.SSLSocket], None]


@pytest.fixture(name="answering")
def answer_once(authority: Authority, tmp_path: Path) -> Iterator[Callable[[Serve], SyslogSink]]:
    """Return what makes a sink of a server that treats one connection as a test says."""
    pair = authority.issue_loopback_server("once")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def make(serve: Serve) -> SyslogSink:
        def run() -> None:
            with suppress(OSError), listener.accept()[0] as plain:
                serve(context.wrap_socket(plain, server_side=True))

        threads.append(threading.Thread(target=run))
        threads[0].start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        return SyslogSink(server_of(address, authority.certificate_path, None))

    yield make
    listener.close()
    for thread in threads:
        thread.join()


def reset(connection: ssl.SSLSocket) -> None:
    """End a connection of which not all was read: the peer is sent a reset."""
    connection.read(10)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


async def test_server_that_did_not_read_all_has_not_taken_it(
    answering: Callable[[Serve], SyslogSink],
) -> None:
    """It ended in the midst: the notices are sent again."""
    many: list[Notice] = [make_notice(number) for number in range(50)]
    with pytest.raises(SinkAwayError):
        await answering(reset).send(many)


def refuse(connection: ssl.SSLSocket) -> None:
    """Say goodbye, and read nothing: rsyslog does so to whose certificate it refuses."""
    connection.settimeout(0.0)
    with suppress(OSError):
        connection.unwrap()
    time.sleep(0.4)
    connection.close()


def read_all(connection: ssl.SSLSocket) -> None:
    """End a connection without goodbye, having read all."""
    while connection.recv(65536):
        pass
    connection.close()


async def test_goodbye_of_a_server_that_read_nothing_is_a_failure(
    answering: Callable[[Serve], SyslogSink], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In TLS 1.3 a client may send before the server has refused its certificate."""
    send_all = ssl.SSLSocket.sendall

    def late(connection: ssl.SSLSocket, frames: bytes) -> None:
        time.sleep(0.2)
        send_all(connection, frames)

    monkeypatch.setattr(ssl.SSLSocket, "sendall", late)
    with pytest.raises(SinkAwayError, match="Connection reset by peer"):
        await answering(refuse).send([make_notice()])


async def test_end_without_goodbye_is_taken_when_all_was_received(
    answering: Callable[[Serve], SyslogSink],
) -> None:
    """As rsyslog with GnuTLS ends."""
    await answering(read_all).send([make_notice(number) for number in range(50)])


async def test_server_of_another_ca_is_told_nothing(rsyslog: Rsyslog, tmp_path: Path) -> None:
    """TLS is verified always."""
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other", "other")
    sink = SyslogSink(server_of(rsyslog.address, other.certificate_path, None))
    with pytest.raises(SinkAwayError, match="certificate is not trusted"):
        await sink.send([make_notice()])
    assert not rsyslog.received()
