"""A name server on loopback, whose answers a test sets and changes; over UDP and TCP, real DNS."""

import asyncio
import enum
import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, cast

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

_TIMEOUT_S: Final = 60.0
_UDP_BYTES: Final = 512
_TRIES_FOR_A_PORT: Final = 20


class Behaviour(enum.Enum):
    """What it does with questions for a name."""

    ANSWERS = "answers"
    """With the records that the name has: none is NODATA, and a name without an entry NXDOMAIN."""
    ROTATES = "rotates"
    """As above, but one address at a time, each question of a type the next one."""
    DRAWS = "draws"
    """With so many of its addresses, at random, as `Entry.shown` says; each question anew."""
    FAILS = "fails"
    """SERVFAIL."""
    REFUSES = "refuses"
    """REFUSED."""
    SILENT = "silent"
    """No answer."""
    SILENT_ONCE = "silent-once"
    """No answer to the first question of each type, as if a packet were lost."""
    WRONG_ID = "wrong-id"
    """Over UDP, first an answer with another id and other addresses, then the right one."""
    WRONG_QUESTION = "wrong-question"
    """Over UDP, first an answer to another question, then the right one."""
    ONLY_SPOOFED = "only-spoofed"
    """Only answers with another id."""
    GARBAGE = "garbage"
    """Only bytes that are no DNS message."""
    NOT_RECURSIVE = "not-recursive"
    """It points to other servers."""


_NOTHING_RIGHT: Final = {Behaviour.SILENT, Behaviour.ONLY_SPOOFED, Behaviour.GARBAGE}

SPOOFED: Final = "198.51.100.66"
"""The address in answers that no resolver may believe; `2001:db8::bad` for AAAA."""


@dataclass
class Entry:
    """What it knows of a name."""

    addresses: list[str] = field(default_factory=list)
    alias: str = ""
    ttl: int = 60
    behaviour: Behaviour = Behaviour.ANSWERS
    shown: int = 1
    besides: list[tuple[str, str]] = field(default_factory=list)
    """Names and addresses that it sends along, unasked."""
    asked: Counter[dns.rdatatype.RdataType] = field(default_factory=Counter)
    """How often, by type."""


@dataclass
class DnsServer:
    """It runs on a thread of its own; change `names` as you like meanwhile."""

    address: str
    port: int = 0
    names: dict[str, Entry] = field(default_factory=dict)
    """By name, without a last dot."""
    questions: list[tuple[str, str, str]] = field(default_factory=list)
    """All so far: name, type, `udp` or `tcp`."""
    dnssec_ok: list[bool] = field(default_factory=list)
    """Of each: whether DNSSEC's records were asked for (RFC 3225)."""

    def set(
        self,
        name: str,
        *addresses: str,
        alias: str = "",
        ttl: int = 60,
        behaviour: Behaviour = Behaviour.ANSWERS,
    ) -> Entry:
        """Say what a name is from now on."""
        entry = Entry(list(addresses), alias, ttl, behaviour)
        self.names[name] = entry
        return entry

    def respond(self, wire: bytes, transport: str) -> list[bytes]:
        """Return the packets that answer a question, in their order."""
        try:
            query = dns.message.from_wire(wire)
        except dns.exception.DNSException:
            return []
        question = query.question[0]
        name = question.name.to_text(omit_final_dot=True)
        self.questions.append((name, dns.rdatatype.to_text(question.rdtype), transport))
        self.dnssec_ok.append(bool(query.ednsflags & dns.flags.DO))
        entry = self.names.get(name)
        right = self._answer(query, entry)
        packet = _fitting(query, right) if transport == "udp" else right.to_wire(max_size=65_535)
        if entry is None:
            return [packet]
        rdtype = question.rdtype
        entry.asked[rdtype] += 1
        if entry.behaviour is Behaviour.SILENT_ONCE:
            return [packet] if entry.asked[rdtype] > 1 else []
        spoofed = _spoofed(query, name, entry.behaviour) if transport == "udp" else []
        return spoofed + ([] if entry.behaviour in _NOTHING_RIGHT else [packet])

    def _answer(self, query: dns.message.Message, entry: Entry | None) -> dns.message.Message:
        answer = dns.message.make_response(query, recursion_available=True)
        if entry is None:
            answer.set_rcode(dns.rcode.NXDOMAIN)
            return answer
        match entry.behaviour:
            case Behaviour.FAILS:
                answer.set_rcode(dns.rcode.SERVFAIL)
                return answer
            case Behaviour.REFUSES:
                answer.set_rcode(dns.rcode.REFUSED)
                return answer
            case Behaviour.NOT_RECURSIVE:
                return dns.message.make_response(query)
        question = query.question[0]
        name, rdtype = question.name.to_text(), question.rdtype
        for owner, address in entry.besides:
            _add(answer, f"{owner}.", entry.ttl, [address], rdtype)
        passed: list[Entry] = []
        while entry is not None and entry.alias and entry not in passed:
            passed.append(entry)
            target = f"{entry.alias}."
            answer.answer.append(dns.rrset.from_text(name, entry.ttl, "IN", "CNAME", target))
            name, entry = target, self.names.get(entry.alias)
        if entry is not None:
            _add(answer, name, entry.ttl, _turn(entry, rdtype), rdtype)
        return answer


def _turn(entry: Entry, rdtype: dns.rdatatype.RdataType) -> list[str]:
    mine = [one for one in entry.addresses if _type_of(one) == rdtype]
    if mine and entry.behaviour is Behaviour.ROTATES:
        return [mine[entry.asked[rdtype] % len(mine)]]
    if mine and entry.behaviour is Behaviour.DRAWS:
        return random.sample(mine, entry.shown)
    return mine


def _type_of(address: str) -> dns.rdatatype.RdataType:
    return dns.rdatatype.A if ip_address(address).version == 4 else dns.rdatatype.AAAA


def _add(
    answer: dns.message.Message,
    name: str,
    ttl: int,
    addresses: list[str],
    rdtype: dns.rdatatype.RdataType,
) -> None:
    mine = [one for one in addresses if _type_of(one) == rdtype]
    if mine:
        answer.answer.append(dns.rrset.from_text_list(name, ttl, "IN", rdtype, mine))


def _spoofed(query: dns.message.Message, name: str, behaviour: Behaviour) -> list[bytes]:
    """Return what comes before the right answer."""
    rdtype, number = query.question[0].rdtype, query.id ^ 1
    match behaviour:
        case Behaviour.GARBAGE:
            return [b"\xff" * 40]
        case Behaviour.WRONG_ID | Behaviour.ONLY_SPOOFED:
            forged = dns.message.make_query(name, rdtype, id=number)
        case Behaviour.WRONG_QUESTION:
            forged = dns.message.make_query("other.example", rdtype, id=query.id)
        case _:
            return []
    answer = dns.message.make_response(forged, recursion_available=True)
    _add(answer, answer.question[0].name.to_text(), 60, [SPOOFED, "2001:db8::bad"], rdtype)
    return [answer.to_wire()]


def _fitting(query: dns.message.Message, answer: dns.message.Message) -> bytes:
    """Return an answer as UDP carries it: where it is too long, none of it and the mark (TC)."""
    wire = answer.to_wire(max_size=65_535)
    if len(wire) <= _UDP_BYTES:
        return wire
    cut = dns.message.make_response(query, recursion_available=True)
    cut.flags |= dns.flags.TC
    return cut.to_wire()


class _Udp(asyncio.DatagramProtocol):
    def __init__(self, server: DnsServer) -> None:
        self.server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        for packet in self.server.respond(data, "udp"):
            self.transport.sendto(packet, addr)


async def _over_tcp(
    server: DnsServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        size = int.from_bytes(await reader.readexactly(2), "big")
        for packet in server.respond(await reader.readexactly(size), "tcp"):
            writer.write(len(packet).to_bytes(2, "big") + packet)
        await reader.read()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _serve(server: DnsServer, ready: threading.Event, stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for _ in range(_TRIES_FOR_A_PORT):
        over_tcp = await asyncio.start_server(
            lambda reader, writer: _over_tcp(server, reader, writer), server.address, server.port
        )
        port = over_tcp.sockets[0].getsockname()[1]
        try:
            udp, _ = await loop.create_datagram_endpoint(
                lambda: _Udp(server), local_addr=(server.address, port)
            )
        except OSError:
            over_tcp.close()
            continue
        server.port = port
        ready.set()
        await stop.wait()
        udp.close()
        over_tcp.close()
        return


@contextmanager
def dns_server(address: str = "127.0.0.1", port: int = 0) -> Iterator[DnsServer]:
    """Run one; with port 0, on one that is free for UDP and TCP."""
    server, ready = DnsServer(address, port), threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(_serve(server, ready, stop))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(_TIMEOUT_S), f"no name server on {address}"
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(_TIMEOUT_S)
