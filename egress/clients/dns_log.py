"""Reads the dnstap log of a DNS server that listens for readers (`dnstap listen` of CoreDNS).

Both ends prove who they are: the server by a certificate for the name that is set, the reader by
its own. CoreDNS that connects outwards (`dnstap tls://…`) shows no certificate, so that anybody
could speak for it: such logs are not read.
"""

import asyncio
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Final

from core.base.errors import DnsLogEndedError, DnsLogError
from egress.dns import dnstap
from egress.dns.log_settings import DnsLogSettings
from egress.dns.resolver import NameServer

OPENS_S: Final = 5.0
"""Until a log has begun: connecting, TLS, and the first three control frames."""
REST_S: Final = 10.0
"""Until the rest of a message has come that has begun."""
MOST_A_SECOND: Final = 20_000
"""Frames: a log of more is ended, and opened again later."""
AT_A_TURN: Final = 100
"""Frames that are read before everything else has its turn."""
_FAR: Final = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses for documentation (RFC 5737, RFC 3849): the way out, family by family."""
_DNS_PORT: Final = 53
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
"""A server that is gone without a word is noticed after 35 s."""


def make_context(settings: DnsLogSettings) -> ssl.SSLContext:
    """Return a TLS context, of the files as they are now.

    Raises:
        DnsLogError: one of them cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_verify_locations(settings.authority)
    except OSError as error:
        raise DnsLogError(
            f"egress.dns_log.ca: cannot be used ({type(error).__name__}): give the PEM of the "
            "authority that signs the certificates of the cluster's DNS"
        ) from None
    try:
        # Without the callback OpenSSL would ask a terminal for an encrypted key's password.
        context.load_cert_chain(settings.certificate, settings.key, password=lambda: "")
    except OSError as error:
        raise DnsLogError(
            f"egress.dns_log.cert and key: cannot be used ({type(error).__name__}): give the PEM "
            "of a client certificate and of its key, without a password"
        ) from None
    return context


async def read_dns_log(
    server: NameServer,
    settings: DnsLogSettings,
    begun: Callable[[frozenset[bytes]], None],
    take: Callable[[bytes], None],
) -> None:
    """Read until the server ends it. `begun` is told by which addresses DNS knows the reader.

    `take` has each message. It must be quick: CoreDNS writes the log while it answers, so a reader
    that is slow holds up the cluster's DNS, by up to 4 s.

    Raises:
        DnsLogEndedError: the connection is gone, or the rest of a message does not come.
        DnsLogError: it cannot be reached, is not who it should be, or what it sends is no log.
    """
    try:
        async with asyncio.timeout(OPENS_S):
            reader, writer = await asyncio.open_connection(
                server.address,
                server.port,
                ssl=make_context(settings),
                server_hostname=settings.server_name,
            )
    except ssl.SSLError as error:
        raise _ended(server, error) from error
    except (OSError, TimeoutError) as error:
        raise DnsLogError(
            f"the DNS log of {server}: cannot be reached ({type(error).__name__}): it must listen "
            "on egress.dns_log.port, and let this Pod in"
        ) from error
    try:
        async with asyncio.timeout(OPENS_S):
            await _expect(reader, dnstap.READY)
            writer.write(dnstap.control_frame(dnstap.ACCEPT))
            await _expect(reader, dnstap.START)
        begun(_set_up(writer.get_extra_info("socket")))
        pace = _Pace()
        while (frame := await _frame(reader)) is not None:
            take(frame)
            await pace.step()
        await _finish(writer)
    except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        raise _ended(server, error) from error
    finally:
        writer.transport.abort()


class _Pace:
    """Lets others run while a log is read, and ends one that floods."""

    def __init__(self) -> None:
        self._began, self._count = time.monotonic(), 0

    async def step(self) -> None:
        """Count a frame.

        Raises:
            DnsLogError: they are too many.
        """
        self._count += 1
        if self._count % AT_A_TURN:
            return
        await asyncio.sleep(0)  # What has arrived is read without one.
        now = time.monotonic()
        if now - self._began >= 1.0:
            self._began, self._count = now, 0
        elif self._count >= MOST_A_SECOND:
            raise DnsLogError(
                f"the DNS log has more than {MOST_A_SECOND:,} messages in a second: log a smaller "
                "block of names"
            )


async def _finish(writer: asyncio.StreamWriter) -> None:
    """Acknowledge the end of a log. CoreDNS waits for that, and answers nobody meanwhile."""
    writer.write(dnstap.control_frame(dnstap.FINISH))
    writer.close()
    async with asyncio.timeout(OPENS_S):
        await writer.wait_closed()


def _ended(server: NameServer, error: Exception) -> DnsLogError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return DnsLogError(
            f"the DNS log of {server}: its certificate is refused ({error.verify_message}): "
            "egress.dns_log.server_name and ca say what it must be"
        )
    if isinstance(error, ssl.SSLError) and error.reason:
        return DnsLogError(
            f"the DNS log of {server}: no TLS ({error.reason}): it must take the certificate of "
            "egress.dns_log.cert"
        )
    return DnsLogEndedError(f"the DNS log of {server}: {type(error).__name__}")


def _set_up(link: socket.socket) -> frozenset[bytes]:
    """Have the kernel notice a server that is gone; return our own addresses, packed."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if option := getattr(socket, name, None):
            link.setsockopt(socket.IPPROTO_TCP, option, value)
    return frozenset({_own_address(link), *_own_addresses()})


def _own_addresses() -> Iterator[bytes]:
    """Yield our address of each family: name servers may be asked by the one that no log has.

    The kernel chooses it as a socket of UDP is connected; nothing is sent.
    """
    for family, far in _FAR:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as asking:
                asking.connect((far, _DNS_PORT))
                yield _own_address(asking)
        except OSError:  # No network of that family.
            continue


def _own_address(link: socket.socket) -> bytes:
    return ip_address(link.getsockname()[0].partition("%")[0]).packed


async def _expect(reader: asyncio.StreamReader, wanted: int) -> None:
    (escape,) = struct.unpack(">I", await reader.readexactly(4))
    if escape:
        raise DnsLogError("the DNS log begins with no control frame")
    if (kind := await _control(reader)) != wanted:
        raise DnsLogError(f"the DNS log begins with a control frame of kind {kind}")


async def _control(reader: asyncio.StreamReader) -> int:
    (size,) = struct.unpack(">I", await reader.readexactly(4))
    if size > dnstap.MOST_CONTROL_BYTES:
        raise DnsLogError(f"the DNS log has a control frame of {size} bytes")
    return dnstap.read_control(await reader.readexactly(size))


async def _frame(reader: asyncio.StreamReader) -> bytes | None:
    """Return the next data frame; None once the log ends."""
    (size,) = struct.unpack(">I", await reader.readexactly(4))
    if size > dnstap.MOST_BYTES:
        raise DnsLogError(f"the DNS log has a frame of {size} bytes")
    async with asyncio.timeout(REST_S):
        if size:
            return await reader.readexactly(size)
        if (kind := await _control(reader)) != dnstap.STOP:
            raise DnsLogError(f"the DNS log has a control frame of kind {kind}")
    return None
