"""Mail by SMTP (RFC 5321), over TLS from the start or by STARTTLS: never without."""

import io
import re
import smtplib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP as MAIL_POLICY
from email.utils import format_datetime, localtime
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final

from structlog.typing import FilteringBoundLogger

from audit.notifications.notice import Notice
from audit.notifications.notice_text import facts_of, headline_of
from audit.notifications.secret_files import read_secret, read_secret_if_there
from audit.notifications.sink import NoticeRefusedError, SinkAwayError
from audit.notifications.sinks.own_thread import MOST_S, Deadline, DeadlineReader, OwnThread
from audit.notifications.sinks.tls_socket import TlsServer
from core.weights.documents.events import Severity
from network.error_texts import describe

USERNAME: Final = "username"
PASSWORD: Final = "password"  # noqa: S105  A file's name.

_NAME: Final = "sallyport"
"""As which it greets servers: its own name may be nobody's."""

_MOST_SUBJECT: Final = 200
_RANK: Final = {severity: number for number, severity in enumerate(Severity)}
_PERMANENT: Final = HTTPStatus.INTERNAL_SERVER_ERROR  # SMTP's replies begin alike: 5yz.


_OF_THE_SINK: Final[Mapping[bytes, str]] = {
    b"2": "a mailbox takes no mail: it is full or closed; check recipients",
    b"7": "its policy refuses it; check sender, and what the server lets that send",
}
"""Of the subjects of enhanced status codes (RFC 3463, 5.X.Y) those that say nothing of the mail."""

_ENHANCED: Final = re.compile(rb"5\.(\d{1,3})\.\d{1,3}(?!\d)")


@dataclass(frozen=True, slots=True)
class MailAddresses:
    """From whom, and to whom."""

    sender: str
    recipients: tuple[str, ...]


def build_mail(notices: Sequence[Notice], addresses: MailAddresses) -> EmailMessage:
    """Return one mail: of a notice, or the digest of several; its Message-ID is that of these."""
    mail = EmailMessage(policy=MAIL_POLICY)
    gravest = max(notices, key=lambda notice: _RANK[notice.severity])
    several = "" if len(notices) == 1 else f"{len(notices)} notices, the gravest: "
    subject = f"[sallyport/{gravest.cluster}] {several}{headline_of(gravest)}"
    ids = " ".join(notice.id for notice in notices)
    name = notices[0].id if len(notices) == 1 else sha256(ids.encode()).hexdigest()[:32]
    mail["From"] = addresses.sender
    mail["To"] = ", ".join(addresses.recipients)
    mail["Subject"] = subject[:_MOST_SUBJECT]
    mail["Date"] = format_datetime(localtime())
    mail["Message-ID"] = f"<{name}@{addresses.sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's absence answers it.
    mail.set_content("\n\n\n".join(map(_paragraphs, notices)) + "\n")
    return mail


def _paragraphs(notice: Notice) -> str:
    facts = [f"{name + ':':<12}{text}" for name, text in facts_of(notice)]
    return "\n".join([headline_of(notice), "", notice.detail, f"Do: {notice.remedy}", "", *facts])


class _Client(smtplib.SMTP):
    """A client that has ended by a deadline, however slowly a server answers."""

    def __init__(self, server: TlsServer, deadline: Deadline, **more: Any) -> None:
        self._deadline = deadline
        super().__init__(server.host, server.port, _NAME, timeout=deadline.left_s(), **more)

    def getreply(self) -> tuple[int, bytes]:
        """Read a reply within the deadline."""
        if self.file is None and self.sock is not None:
            self.file = io.BufferedReader(DeadlineReader(self.sock, self._deadline))
        return super().getreply()

    def send(self, s: Any) -> None:
        """Send within the deadline."""
        if self.sock is not None:
            self.sock.settimeout(self._deadline.left_s())
        super().send(s)


class _TlsClient(_Client, smtplib.SMTP_SSL):
    """The same over TLS from the start."""


class SmtpSink:
    """Sends mail by one server."""

    most = 20
    """More at once come in one mail."""

    def __init__(
        self,
        server: TlsServer,
        addresses: MailAddresses,
        logger: FilteringBoundLogger,
        *,
        implicit_tls: bool,
    ) -> None:
        self._server = server
        self._addresses = addresses
        self._logger = logger
        self._implicit_tls = implicit_tls
        self._thread = OwnThread()

    def fitting(self, notices: Sequence[Notice]) -> int:
        """Return all; see `Sink`."""
        return len(notices)

    async def send(self, notices: Sequence[Notice]) -> None:
        """Send one mail; see `Sink`. It is acknowledged when the server has taken it."""
        mail = build_mail(notices, self._addresses)
        refused = await self._thread.run(partial(self._send, mail))
        if refused:
            self._logger.error(
                "recipients of mail are refused",
                refused=refused,
                of=len(self._addresses.recipients),
            )

    async def close(self) -> None:
        """Nothing is open between two mails."""
        self._thread.close()

    def _send(self, mail: EmailMessage) -> int:
        """Return how many recipients the server refused, if not all."""
        server = self._server
        where = f"{server.host}:{server.port}"
        try:
            client = self._connect(Deadline(MOST_S))
            try:
                recipients = list(self._addresses.recipients)
                return len(client.send_message(mail, self._addresses.sender, recipients))
            finally:
                with suppress(OSError):  # What it says to the goodbye changes nothing.
                    client.quit()
                client.close()
        except smtplib.SMTPRecipientsRefused:
            raise SinkAwayError(f"{where}: every recipient is refused; check recipients") from None
        except smtplib.SMTPDataError as error:
            raise _refused(error, where) from None
        except smtplib.SMTPAuthenticationError as error:
            fix = f"check {USERNAME} and {PASSWORD}"
            raise SinkAwayError(f"{where}: it answers {error.smtp_code}: {fix}") from None
        except smtplib.SMTPResponseException as error:
            raise SinkAwayError(f"{where}: it answers {error.smtp_code}") from None
        except smtplib.SMTPNotSupportedError:
            fix = "it offers no STARTTLS or no sign-in; see the setting tls"
            raise SinkAwayError(f"{where}: {fix}") from None
        except (OSError, ValueError) as error:
            raise SinkAwayError(f"{where}: {describe(error)}") from None

    def _connect(self, deadline: Deadline) -> _Client:
        server = self._server
        context = server.context()
        if self._implicit_tls:
            client: _Client = _TlsClient(server, deadline, context=context)
        else:
            client = _Client(server, deadline)
        try:
            if not self._implicit_tls:
                client.starttls(context=context)
            if user := read_secret_if_there(server.secrets, USERNAME):
                assert server.secrets is not None  # noqa: S101  It has one.
                client.login(user, read_secret(server.secrets, PASSWORD))
        except BaseException:
            client.close()
            raise
        return client


def _refused(error: smtplib.SMTPDataError, where: str) -> SinkAwayError | NoticeRefusedError:
    """Return what a reply to the mail itself means; of its text only a status code is read."""
    said = f"it answers {error.smtp_code}"
    if error.smtp_code < _PERMANENT:
        return SinkAwayError(f"{where}: {said}")
    text = error.smtp_error if isinstance(error.smtp_error, bytes) else error.smtp_error.encode()
    enhanced = _ENHANCED.match(text)
    if enhanced is None or enhanced[1] not in _OF_THE_SINK:
        return NoticeRefusedError(said)
    return SinkAwayError(f"{where}: {said} {enhanced[0].decode()}: {_OF_THE_SINK[enhanced[1]]}")
