"""The TLS side of the listener: its context, and certificate pairs that change under way."""

import asyncio
import hashlib
import os
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from structlog.typing import FilteringBoundLogger

from core.base.errors import CannotBindError


@dataclass(frozen=True)
class TlsSettings:
    """Where the serving pair is, and who may connect."""

    certificate: Path
    """PEM: the serving certificate, then its intermediates."""
    key: Path
    """PEM, without a password."""
    client_ca: Path | None = None
    """PEM: with it, every client must show a certificate of these CAs, as the file holds them when
    it is looked at. A connection that is open stays so."""
    poll_seconds: float = 1.5
    """How often the pair's content is looked at. Secret volumes swap a symlink: no mtime."""


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as they were read at one moment."""

    certificate: bytes
    key: bytes
    not_before: float
    """Unix time, as is `not_after`."""
    not_after: float


def build_context(client_ca: Path | None = None) -> ssl.SSLContext:
    """Return a server context without a certificate: TLS 1.2 or later, HTTP/1.1.

    Sessions are not resumed: kube-apiserver does not, and a resumed session would not show
    its client certificate again.

    Raises:
        CannotBindError: `client_ca` cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET | ssl.OP_NO_COMPRESSION
    context.num_tickets = 0
    context.set_alpn_protocols(["http/1.1"])
    if client_ca is not None:
        try:
            context.load_verify_locations(cafile=client_ca)
        except (OSError, ssl.SSLError) as error:
            message = f"client CA {client_ca} cannot be read ({error}); give a PEM file"
            raise CannotBindError(message) from error
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def read_pair(certificate: Path, key: Path) -> Pair:
    """Read a pair and check that its halves belong together.

    Raises:
        CannotBindError: a file is missing or half-written, or the key is another's.
    """
    try:
        chain, secret = certificate.read_bytes(), key.read_bytes()
    except OSError as error:
        message = f"{error.filename} cannot be read: {error.strerror}"
        raise CannotBindError(message) from error
    try:
        leaf = x509.load_pem_x509_certificates(chain)[0]
        pair = Pair(
            chain,
            secret,
            leaf.not_valid_before_utc.timestamp(),
            leaf.not_valid_after_utc.timestamp(),
        )
        load_pair(build_context(), pair)
    except (ValueError, x509.InvalidVersion, ssl.SSLError) as error:
        message = f"{certificate} and {key} are no pair, or half-written: {error}"
        raise CannotBindError(message) from error
    return pair


def load_pair(context: ssl.SSLContext, pair: Pair) -> None:
    """Put a pair into a context: new handshakes show it, open connections stay as they are.

    OpenSSL loads from paths only and would keep a new certificate without a key if the files
    changed between two reads. So it reads copies that exist in memory alone (memfd).
    """
    with _in_memory(pair.certificate) as certificate, _in_memory(pair.key) as key:
        # Without the callback OpenSSL would ask a terminal for an encrypted key's password.
        context.load_cert_chain(certificate, key, password=lambda: "")


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    descriptor = os.memfd_create("sallyport-pair", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


class PairWatcher:
    """Keeps one live context's pair in step with its files.

    A pair that is mismatched, half-written, expired or not yet valid never replaces a good one:
    it is logged once, counted, and tried again at each look.
    """

    def __init__(
        self,
        settings: TlsSettings,
        logger: FilteringBoundLogger,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.context = build_context(settings.client_ca)
        if settings.client_ca is not None:
            self.context.sni_callback = self._choose
        self.reloads = {"ok": 0, "error": 0}
        self._settings = settings
        self._logger = logger
        self._clock = clock
        self._pair: Pair | None = None
        self._problem = "has not been looked at yet"
        self._loaded = b""
        self._refused = b""
        self._client_cas = b""
        self._trusting = self.context

    @property
    def not_after(self) -> float | None:
        """Unix time at which the loaded certificate expires; None while there is none."""
        return self._pair.not_after if self._pair else None

    def missing(self) -> list[str]:
        """Say what keeps the listener from being trusted, for a person."""
        if self._pair is None:
            return [f"no certificate is loaded: {self._problem}"]
        if self._pair.not_after <= self._clock():
            return [f"{self._settings.certificate} has expired; {self._problem or 'renew it'}"]
        return []

    def look(self) -> bool:
        """Look at the files once; say whether a new pair was loaded."""
        self._look_at_client_cas()
        digest = self._digest()
        if self._pair is not None and digest == self._loaded:
            self._problem = ""
            return False
        try:
            pair = read_pair(self._settings.certificate, self._settings.key)
            self._check_validity(pair)
        except CannotBindError as error:
            self._note_failure(digest, str(error))
            return False
        for context in {self.context, self._trusting}:
            load_pair(context, pair)
        self._pair, self._problem = pair, ""
        self._loaded = _digest(pair.certificate, pair.key)
        self.reloads["ok"] += 1
        self._logger.info("certificate loaded", not_after=int(pair.not_after))
        return True

    async def watch(self) -> None:
        """Look at the files until cancelled."""
        while True:
            await asyncio.sleep(self._settings.poll_seconds)
            self.look()

    def _choose(
        self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _: ssl.SSLContext
    ) -> None:
        """Have a handshake go on with the CAs in force: OpenSSL takes none out of a context.

        It is asked without a name too, as kube-apiserver comes to an address.
        """
        connection.context = self._trusting

    def _look_at_client_cas(self) -> None:
        """Trust the CAs that the file holds now. What cannot be read changes nothing."""
        if self._settings.client_ca is None:
            return
        try:
            content = self._settings.client_ca.read_bytes()
            if content == self._client_cas:
                return
            trusting = build_context()
            trusting.load_verify_locations(cadata=content.decode("ascii"))
            trusting.verify_mode = ssl.CERT_REQUIRED
        except (OSError, ValueError) as error:  # of OSError, SSLError is one
            if self._client_cas:
                kept = "the CAs of before stay trusted"
                problem = type(error).__name__
                self._logger.warning("client CA refused", error=problem, consequence=kept)
                self._client_cas = b""
            return
        if self._pair is not None:
            load_pair(trusting, self._pair)
        self._trusting, self._client_cas = trusting, content

    def _digest(self) -> bytes:
        try:
            files = (self._settings.certificate, self._settings.key)
            return _digest(*(path.read_bytes() for path in files))
        except OSError:
            return b""

    def _check_validity(self, pair: Pair) -> None:
        now = self._clock()
        if pair.not_after <= now:
            message = f"{self._settings.certificate} has expired; renew it"
            raise CannotBindError(message)
        if pair.not_before > now:
            message = f"{self._settings.certificate} is not valid yet; check this machine's clock"
            raise CannotBindError(message)

    def _note_failure(self, digest: bytes, problem: str) -> None:
        self.reloads["error"] += 1
        if (digest, problem) != (self._refused, self._problem):
            kept = "the old pair stays in force" if self._pair else "nothing can connect"
            self._logger.error("certificate refused", problem=problem, consequence=kept)
        self._refused, self._problem = digest, problem


def _digest(certificate: bytes, key: bytes) -> bytes:
    return hashlib.sha256(b"%d:%b%b" % (len(certificate), certificate, key)).digest()
