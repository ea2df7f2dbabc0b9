"""Mail by SMTP (RFC 5321), over TLS from the start or by STARTTLS: never without."""

import asyncio
import smtplib
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP as MAIL_POLICY
from email.utils import format_datetime, localtime
from hashlib import sha256
from http import HTTPStatus
from typing import Final

from structlog.typing import FilteringBoundLogger

from audit.notifications.notice import Notice
from audit.notifications.notice_text import facts_of, headline_of
from audit.notifications.secret_files import read_secret, read_secret_if_there
from audit.notifications.sink import NoticeRefusedError, SinkAwayError
from audit.notifications.sinks.tls_socket import TIMEOUT_S, TlsServer
from core.weights.documents.events import Severity
from network.error_texts import describe

USERNAME: Final = "username"
PASSWORD: Final = "password"  # noqa: S105  A file's name.

_NAME: Final = "sallyport"
"""As which it greets servers: its own name may be nobody's."""

_MOST_SUBJECT: Final = 200
_RANK: Final = {severity: number for number, severity in enumerate(Severity)}
_PERMANENT: Final = HTTPStatus.INTERNAL_SERVER_ERROR  # SMTP's replies begin alike: 5yz.


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

    async def send(self, notices: Sequence[Notice]) -> None:
        """Send one mail; see `Sink`. It is acknowledged when the server has taken it."""
        mail = build_mail(notices, self._addresses)
        refused = await asyncio.to_thread(self._send, mail)
        if refused:
            self._logger.error(
                "recipients of mail are refused",
                refused=refused,
                of=len(self._addresses.recipients),
            )

    async def close(self) -> None:
        """Nothing is open between two mails."""

    def _send(self, mail: EmailMessage) -> int:
        """Return how many recipients the server refused, if not all."""
        server = self._server
        where = f"{server.host}:{server.port}"
        try:
            with self._connect() as client:
                recipients = list(self._addresses.recipients)
                return len(client.send_message(mail, self._addresses.sender, recipients))
        except smtplib.SMTPRecipientsRefused:
            raise SinkAwayError(f"{where}: every recipient is refused; check recipients") from None
        except smtplib.SMTPDataError as error:
            if error.smtp_code >= _PERMANENT:
                raise NoticeRefusedError(f"it answers {error.smtp_code}") from None
            raise SinkAwayError(f"{where}: it answers {error.smtp_code}") from None
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

    def _connect(self) -> smtplib.SMTP:
        server = self._server
        context = server.context()
        if self._implicit_tls:
            client: smtplib.SMTP = smtplib.SMTP_SSL(
                server.host, server.port, _NAME, timeout=TIMEOUT_S, context=context
            )
        else:
            client = smtplib.SMTP(server.host, server.port, _NAME, timeout=TIMEOUT_S)
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
