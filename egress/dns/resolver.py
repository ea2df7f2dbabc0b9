"""Asks every name server that is configured what a name resolves to."""

import asyncio
import re
import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, Literal

import dns.asyncbackend
import dns.asyncquery
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rdtypes.IN.A
import dns.rdtypes.IN.AAAA
import msgspec

from core.base.errors import SettingsError
from core.base.networks import Address
from egress.dns.learnt_names import DnsReply, QuestionKey
from egress.dns.resolver_settings import ResolverSettings

DNS_PORT: Final = 53
AWAY_S: Final = 30.0
"""A Pod that does not answer is asked again after so long."""
_MOST_SILENCES: Final = 8
"""So many questions in a row a Pod leaves unanswered until it counts as away: those for one name
whose own servers are slow are fewer, and any answer ends the row."""
_MAX_PORT: Final = 65_535

_BRACKETED: Final = re.compile(r"\[(?P<host>[^\]]*)\](?::(?P<port>\d{1,5}))?")
_PLAIN: Final = re.compile(r"(?P<host>[^:]*)(?::(?P<port>\d{1,5}))?")

_FAMILIES: Final[dict[Literal[4, 6], dns.rdatatype.RdataType]] = {
    4: dns.rdatatype.A,
    6: dns.rdatatype.AAAA,
}
_ANSWERS: Final = (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)
_ADDRESSES: Final = (dns.rdtypes.IN.A.A, dns.rdtypes.IN.AAAA.AAAA)


@dataclass(frozen=True, slots=True)
class NameServer:
    """A name server."""

    address: str
    """IPv4 or IPv6, never a name."""
    port: int = DNS_PORT

    def __str__(self) -> str:
        """Write it with its port: `10.0.0.10:53`, `[fd00::a]:53`."""
        return (
            f"[{self.address}]:{self.port}"
            if ":" in self.address
            else f"{self.address}:{self.port}"
        )


@dataclass(frozen=True, slots=True)
class Question:
    """A question for a name."""

    server: NameServer
    family: Literal[4, 6]
    """4: A, 6: AAAA."""
    dnssec_ok: bool = False
    """Whether signatures are asked for, too (RFC 3225). CoreDNS's cache keeps such an answer apart
    (`hash` of its plugin/cache/cache.go), so that it is another one of a name that rotates."""

    @property
    def key(self) -> QuestionKey:
        """The same without objects."""
        return str(self.server), self.family, self.dnssec_ok


def server_of(text: str) -> NameServer:
    """Read `10.0.0.10`, `10.0.0.10:5353`, `fd00::a` or `[fd00::a]:5353`.

    Raises:
        SettingsError: it is none of these.
    """
    found = _BRACKETED.fullmatch(text) or _PLAIN.fullmatch(text)
    host, port = found.group("host", "port") if found else (text, None)
    try:
        address, number = str(ip_address(host)), int(port or DNS_PORT)
    except ValueError:
        address, number = "", 0
    if not address or not 1 <= number <= _MAX_PORT:
        raise SettingsError(
            f"egress.resolver.servers: {text!r} must be an IP address, with or without a port: "
            "10.0.0.10, 10.0.0.10:53, [fd00::a]:53"
        )
    return NameServer(address, number)


def servers_of_system(resolv_conf: str) -> tuple[NameServer, ...]:
    """Return the name servers of a resolv.conf(5), in its order; other lines are of no matter.

    Raises:
        SettingsError: one is no address.
    """
    lines = (line.split() for line in resolv_conf.splitlines())
    return tuple(
        server_of(words[1]) for words in lines if words[:1] == ["nameserver"] and words[1:]
    )


class Resolver:
    """Asks each of its servers, A and AAAA, and tells what each one said.

    A server that says that a name has no address has answered; one that fails, refuses or keeps
    silent has not. CNAMEs are followed inside one answer only, from the name that was asked for:
    whatever else a server sends along counts for nothing.
    """

    def __init__(self, servers: Iterable[NameServer], settings: ResolverSettings) -> None:
        """Take the servers; each is asked once, however often it is named.

        Raises:
            SettingsError: there are none.
        """
        self._servers = tuple(dict.fromkeys(servers))
        if not self._servers:
            raise SettingsError("egress.resolver.servers: name at least one name server")
        self._pods: tuple[NameServer, ...] = ()
        self._silences: dict[NameServer, int] = {}
        """Pods that did not answer, and how many questions in a row."""
        self._away: dict[NameServer, float] = {}
        """Those that are not asked, each with the monotonic seconds until which."""
        self._settings = settings
        self._room = asyncio.Semaphore(settings.at_once)

    def set_pods(self, pods: Iterable[NameServer]) -> None:
        """Have the Pods of the cluster's DNS asked, besides: each of them caches for itself.

        One that does not answer is no problem of a name, for Pods come and go; it is then asked
        one question in `AWAY_S`, so that it holds up no other server's.
        """
        self._pods = tuple(each for each in dict.fromkeys(pods) if each not in self._servers)
        for known in (self._silences, self._away):
            for gone in known.keys() - set(self._pods):
                del known[gone]

    def questions(self) -> Sequence[Question]:
        """Return all questions by which different answers for a name may be had."""
        return [
            Question(server, family, dnssec_ok)
            for dnssec_ok in (False, True)
            for server in (*self._servers, *self._pods)
            for family in _FAMILIES
        ]

    async def ask(self, name: str) -> Sequence[DnsReply]:
        """Ask for a name, absolute, without a last dot; it takes twice `tries` timeouts at most.

        That is counted from when there is room. Nothing is raised for what servers do.
        """
        asked = [each for each in self.questions() if not each.dnssec_ok]
        return await asyncio.gather(*(self.ask_one(name, each) for each in asked))

    async def ask_one(self, name: str, question: Question) -> DnsReply:
        """Ask one question for a name; as `ask`."""
        reply = await self._ask(question, dns.name.from_text(f"{name}."))
        is_extra = question.server in self._pods
        return msgspec.structs.replace(reply, is_extra=is_extra, dnssec_ok=question.dnssec_ok)

    def _is_away(self, server: NameServer) -> bool:
        """Return whether a Pod is left out; where it was for long enough, this one asks it."""
        until, now = self._away.get(server), time.monotonic()
        if until is None or now < until:
            return until is not None
        self._away[server] = now + AWAY_S
        return False

    async def _ask(self, question: Question, name: dns.name.Name) -> DnsReply:
        server, family = question.server, question.family
        async with self._room:
            if self._is_away(server):
                return DnsReply(str(server), family, problem="did not answer before")
            found = await self._try(question, name)
        if isinstance(found, DnsReply):
            self._silences.pop(server, None)
            self._away.pop(server, None)
            return found
        if server in self._pods:
            self._silences[server] = self._silences.get(server, 0) + 1
            if self._silences[server] >= _MOST_SILENCES:
                self._away[server] = time.monotonic() + AWAY_S
        return DnsReply(str(server), family, problem=found)

    async def _try(self, question: Question, name: dns.name.Name) -> DnsReply | str:
        """Return what a server answers, if only that it cannot tell; or why there is no answer."""
        problem, server, family = "", question.server, question.family
        for _ in range(self._settings.tries):
            query = dns.message.make_query(name, _FAMILIES[family], want_dnssec=question.dnssec_ok)
            try:
                answer = await _exchange(query, server, self._settings.timeout_s)
                return _reply(server, family, answer)
            except (TimeoutError, dns.exception.Timeout):
                problem = f"does not answer within {self._settings.timeout_s:g} s"
            except (OSError, EOFError) as error:
                problem = f"cannot be reached ({type(error).__name__})"
            except dns.exception.DNSException as error:
                problem = f"sends what is no answer ({type(error).__name__})"
        return problem


async def _exchange(
    query: dns.message.QueryMessage, server: NameServer, timeout_s: float
) -> dns.message.Message:
    """Send a question over UDP, from a port of its own; over TCP, if the answer is cut short.

    The socket is connected: the kernel drops what comes from elsewhere, and says so where nobody
    listens. What carries another id or question is passed over until the time is up.
    """
    family = socket.AF_INET6 if ":" in server.address else socket.AF_INET
    peer = (server.address, server.port)
    backend = dns.asyncbackend.get_default_backend()
    async with (
        asyncio.timeout(2 * timeout_s),
        await backend.make_socket(  # type: ignore[no-untyped-call]
            family, socket.SOCK_DGRAM, 0, None, peer
        ) as udp,
    ):
        answer, _ = await dns.asyncquery.udp_with_fallback(
            query,
            server.address,
            timeout_s,
            server.port,
            ignore_unexpected=True,
            udp_sock=udp,
            ignore_errors=True,
        )
    return answer


def _reply(server: NameServer, family: Literal[4, 6], answer: dns.message.Message) -> DnsReply:
    """Read an answer.

    Raises:
        dns.exception.DNSException: it contradicts itself.
    """
    rcode = answer.rcode()
    if rcode not in _ANSWERS or not isinstance(answer, dns.message.QueryMessage):
        return DnsReply(str(server), family, problem=f"answers {dns.rcode.to_text(rcode)}")
    chain = answer.resolve_chaining()
    addresses: list[Address] = [
        ip_address(record.address)
        for record in chain.answer or ()
        if isinstance(record, _ADDRESSES)
    ]
    recursive = answer.flags & dns.flags.RA
    if not addresses and not recursive and (chain.cnames or not answer.flags & dns.flags.AA):
        return DnsReply(str(server), family, problem="does not follow names to other servers")
    addresses.sort(key=int)
    targets = (record.target for each in chain.cnames for record in each)
    aliases = tuple(each.to_text(omit_final_dot=True).lower() for each in targets)
    return DnsReply(str(server), family, tuple(addresses), chain.minimum_ttl, aliases)
