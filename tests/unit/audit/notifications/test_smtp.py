"""Mail, to a real server of SMTP: never without TLS, one mail for several notices."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from audit.notifications.sink import NoticeRefusedError, SinkAwayError
from audit.notifications.sinks import smtp
from audit.notifications.sinks.smtp import MailAddresses, SmtpSink
from audit.notifications.sinks.tls_socket import server_of
from core.weights.documents.events import Severity
from tests.harness.programs.pki import Authority
from tests.unit.audit.notifications.notices import make_notice
from webhooks.log import get_logger

PASSWORD = "canary-p4ss"
ADDRESSES = MailAddresses("sallyport@example.com", ("ann@example.com", "bob@example.com"))


@dataclass
class Mailbox:
    """What a server took; and what it refuses."""

    mails: list[Envelope] = field(default_factory=list)
    refuses: dict[str, str] = field(default_factory=dict)
    """Replies by recipient."""
    reply: str = "250 taken"
    """To DATA."""
    goodbye: str = "221 Bye"
    """To QUIT."""

    async def handle_RCPT(  # noqa: N802  aiosmtpd's.
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: Any
    ) -> str:
        """Take a recipient, or not."""
        del server, session, options
        if address in self.refuses:
            return self.refuses[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        """Take a mail, or not."""
        del server, session
        if self.reply.startswith("250"):
            self.mails.append(envelope)
        return self.reply

    async def handle_QUIT(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        """Say goodbye."""
        del server, session, envelope
        return self.goodbye

    def read(self) -> list[EmailMessage]:
        """Return the mails as readers show them."""
        return [
            message_from_bytes(each.content, policy=policy.default)  # type: ignore[arg-type]
            for each in self.mails
        ]


def authenticate(
    server: SMTP, session: Session, envelope: Envelope, mechanism: str, given: Any
) -> AuthResult:
    """Let one user in."""
    del server, session, envelope, mechanism
    is_known = isinstance(given, LoginPassword) and given == LoginPassword(
        b"sallyport", PASSWORD.encode()
    )
    return AuthResult(success=is_known, handled=False)


@pytest.fixture(name="mailbox")
def make_mailbox() -> Mailbox:
    """Return one that takes everything."""
    return Mailbox()


@pytest.fixture(name="context")
def make_context(authority: Authority) -> ssl.SSLContext:
    """Return the server's TLS context."""
    pair = authority.issue_loopback_server("mail")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


@asynccontextmanager
async def run(
    mailbox: Mailbox, ssl_context: ssl.SSLContext | None = None, **options: Any
) -> AsyncIterator[str]:
    """Run a server in this event loop, and yield where."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(mailbox, loop=loop, hostname="mail", **options),
        "127.0.0.1",
        0,
        ssl=ssl_context,
    )
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.fixture(name="starttls")
async def run_starttls(mailbox: Mailbox, context: ssl.SSLContext) -> AsyncIterator[str]:
    """Run a server that demands STARTTLS and a user."""
    demands: dict[str, Any] = {
        "require_starttls": True,
        "auth_required": True,
        "authenticator": authenticate,
    }
    async with run(mailbox, None, tls_context=context, **demands) as address:
        yield address


@pytest.fixture(name="implicit")
async def run_implicit(mailbox: Mailbox, context: ssl.SSLContext) -> AsyncIterator[str]:
    """Run a server that speaks TLS from the start."""
    async with run(mailbox, context) as address:
        yield address


@pytest.fixture(name="plain")
async def run_plain(mailbox: Mailbox) -> AsyncIterator[str]:
    """Run a server that has no TLS."""
    async with run(mailbox) as address:
        yield address


def sink_of(address: str, authority: Authority, secrets: Path | None, tls: str) -> SmtpSink:
    """Return a sink."""
    server = server_of(address, authority.certificate_path, secrets)
    return SmtpSink(server, ADDRESSES, get_logger(), implicit_tls=tls == "implicit")


def write_user(secrets: Path, password: str = PASSWORD) -> None:
    """Write the user as the Secret has it."""
    (secrets / "username").write_text("sallyport\n")
    (secrets / "password").write_text(password)


async def test_mail_says_what_was_found(
    starttls: str, mailbox: Mailbox, authority: Authority, secrets: Path
) -> None:
    """To all recipients, by STARTTLS and as a user; its Message-ID is the notice's."""
    write_user(secrets)
    notice = make_notice(title="näïve read")
    await sink_of(starttls, authority, secrets, "starttls").send([notice])
    (mail,) = mailbox.read()
    assert mailbox.mails[0].rcpt_tos == list(ADDRESSES.recipients)
    assert mail["Subject"] == "[sallyport/prod] HIGH: näïve read"
    assert mail["Message-ID"] == f"<{notice.id}@example.com>"
    assert mail["Auto-Submitted"] == "auto-generated"
    text = mail.get_content()
    for word in (notice.detail, notice.remedy, notice.id, "ungranted", "frontier", notice.who):
        assert word in text


async def test_several_notices_come_in_one_mail(
    implicit: str, mailbox: Mailbox, authority: Authority
) -> None:
    """A burst does not fill a mailbox; the subject is of the gravest."""
    grave = make_notice(7, severity=Severity.CRITICAL, title="all is lost")
    notices = [*(make_notice(number) for number in range(5)), grave]
    await sink_of(implicit, authority, None, "implicit").send(notices)
    (mail,) = mailbox.read()
    assert mail["Subject"] == "[sallyport/prod] 6 notices, the gravest: CRITICAL: all is lost"
    assert all(each.id in mail.get_content() for each in notices)


async def test_server_without_tls_is_told_nothing(
    plain: str, mailbox: Mailbox, authority: Authority, secrets: Path
) -> None:
    """Nor is the password."""
    write_user(secrets)
    for tls in ("starttls", "implicit"):
        with pytest.raises(SinkAwayError) as caught:
            await sink_of(plain, authority, secrets, tls).send([make_notice()])
        assert PASSWORD not in str(caught.value)
    assert not mailbox.mails


async def test_wrong_password_is_no_fault_of_the_notice(
    starttls: str, mailbox: Mailbox, authority: Authority, secrets: Path
) -> None:
    """It is read again, and the notice sent again."""
    write_user(secrets, "wr0ng")
    sink = sink_of(starttls, authority, secrets, "starttls")
    with pytest.raises(SinkAwayError, match="answers 535: check username and password") as caught:
        await sink.send([make_notice()])
    assert "wr0ng" not in str(caught.value)
    write_user(secrets)
    await sink.send([make_notice()])
    assert len(mailbox.mails) == 1


async def test_replies_of_the_server(implicit: str, mailbox: Mailbox, authority: Authority) -> None:
    """4yz is tried again; 5yz to the mail refuses it; recipients are no part of the notice."""
    sink = sink_of(implicit, authority, None, "implicit")
    mailbox.reply = "452 canary of a reply"
    with pytest.raises(SinkAwayError, match=r": it answers 452$"):
        await sink.send([make_notice()])
    mailbox.reply = "554 canary of a reply"
    with pytest.raises(NoticeRefusedError, match=r"^it answers 554$"):
        await sink.send([make_notice()])
    mailbox.reply = "554 5.6.0 canary of a reply"
    with pytest.raises(NoticeRefusedError, match=r"^it answers 554$"):
        await sink.send([make_notice()])
    for code, fix in (("5.7.1", "check sender"), ("5.2.2", "check recipients")):
        mailbox.reply = f"554 {code} canary of a reply"
        with pytest.raises(SinkAwayError, match=f": it answers 554 {code}: .*{fix}") as caught:
            await sink.send([make_notice()])
        assert "canary" not in str(caught.value)
    mailbox.reply = "250 OK"
    mailbox.refuses = {"ann@example.com": "550 nobody"}
    await sink.send([make_notice()])
    assert mailbox.mails[0].rcpt_tos == ["bob@example.com"]
    mailbox.refuses["bob@example.com"] = "550 nobody"
    with pytest.raises(SinkAwayError, match="every recipient is refused"):
        await sink.send([make_notice()])


async def test_mail_is_taken_whatever_the_server_says_to_the_goodbye(
    implicit: str, mailbox: Mailbox, authority: Authority
) -> None:
    """Else it would go out again."""
    mailbox.goodbye = "554 canary of a reply"
    await sink_of(implicit, authority, None, "implicit").send([make_notice()])
    assert len(mailbox.mails) == 1


async def test_server_that_drips_ends_with_the_deadline_and_holds_one_thread(
    context: ssl.SSLContext, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte comes in time, and the reply never ends."""
    monkeypatch.setattr(smtp, "MOST_S", 0.5)
    greeted: list[int] = []

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        greeted.append(1)
        with suppress(OSError):
            writer.write(b"220-")
            while not writer.is_closing():
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.02)

    server = await asyncio.start_server(drip, "127.0.0.1", 0, ssl=context)
    async with server:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        sink = sink_of(address, authority, None, "implicit")
        for _ in range(2):
            async with asyncio.timeout(10):
                with pytest.raises(SinkAwayError, match=address):
                    await sink.send([make_notice()])
        await sink.close()
    assert len(greeted) == 2
