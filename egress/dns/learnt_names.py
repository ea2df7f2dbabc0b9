"""What DNS names resolve to, learnt from answer to answer. Pure.

`egress.dns.resolver` asks, `egress.dns.usable_addresses` says which of the addresses may be opened,
and `egress.dns.store` keeps them over a restart. All times are Unix seconds.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from core.base.errors import SettingsError
from core.base.networks import Address


@dataclass(frozen=True, slots=True)
class NamesSettings:
    """How long addresses are kept, and how often names are asked for."""

    window_s: float = 3600.0
    """An address stays for so long after it was last seen: behind rotating answers (github.com
    gives one of six) a window of 600 s missed 6.1 % of answers, this one about none."""
    min_refresh_s: float = 30.0
    """No name is asked for more often, whatever the TTL of its answers."""
    max_refresh_s: float = 300.0
    """Each name is asked for at least so often."""
    max_addresses: int = 256
    """For one name; beyond it, those seen longest ago go first."""
    quiet_s: float = 60.0
    """A burst of questions ends when nothing new has come for so long: two answers of a CoreDNS
    that caches for 30 s, as Kubernetes sets it up."""
    burst_questions: float = 100.0
    """Questions a second in bursts, for all names together."""
    burst_name_questions: float = 10.0
    """The same for one name."""

    def __post_init__(self) -> None:
        """Refuse settings that would close what is in use.

        Raises:
            SettingsError: naming the setting and what it must be.
        """
        if not 1 <= self.min_refresh_s <= self.max_refresh_s:
            raise SettingsError("egress.names: min_refresh_s must be 1 or more, and at most max")
        if self.max_refresh_s > self.window_s:
            raise SettingsError("egress.names: max_refresh_s must be at most window_s")
        if self.max_addresses < 1:
            raise SettingsError("egress.names.max_addresses: must be 1 or more")
        if self.quiet_s < 0 or min(self.burst_questions, self.burst_name_questions) < 1:
            raise SettingsError(
                "egress.names: quiet must be 0 or more, burst_questions and burst_name_questions "
                "1 or more"
            )


_MOST_ALIASES: Final = 16
"""Of one name; beyond it, those seen longest ago go first."""

QuestionKey = tuple[str, int, bool]
"""Server, family, and whether DNSSEC's records were asked for."""


class DnsReply(msgspec.Struct, frozen=True):
    """What one name server said of a name in one family of addresses."""

    server: str
    """`address:port`; for people."""
    family: Literal[4, 6]
    """Of the question: A or AAAA. All addresses are of it."""
    addresses: tuple[Address, ...] = ()
    """Empty where the server says that there are none (NXDOMAIN, no data): that is an answer."""
    ttl: int = 0
    """Seconds for which that may be remembered."""
    aliases: tuple[str, ...] = ()
    """The names that it led through (CNAME), in lower case, without a last dot."""
    problem: str = ""
    """Why there is no answer; empty where there is one."""
    is_extra: bool = False
    """Whether it is none of the servers that answers are due from, so that nobody is told."""
    dnssec_ok: bool = False
    """Of the question."""

    @property
    def key(self) -> QuestionKey:
        """Which question it answers."""
        return self.server, self.family, self.dnssec_ok


class SeenAddress(msgspec.Struct, frozen=True, gc=False):
    """An address, and when a server last gave it."""

    address: Address
    last: float


class SeenAlias(msgspec.Struct, frozen=True, order=True, gc=False):
    """A name that another one led to, and when a server last said so."""

    name: str
    last: float


class LearntName(msgspec.Struct, frozen=True):
    """What is known of one name: every address, usable or not, for intents differ in that."""

    seen: tuple[SeenAddress, ...] = ()
    """Sorted by address, IPv4 first."""
    answered: float | None = None
    """When a server last answered, in either family."""
    capped: float | None = None
    """When an address was last left out because there were too many; None within no window."""
    unwanted: float | None = None
    """Since when no intent has named it."""
    learning: float | None = None
    """Since when more of its answers may be refused than `egress.dns.bursts` takes for learnt."""
    refused: int | None = None
    """Per cent of connections that are refused meanwhile, estimated and rounded; None before
    there is an estimate."""
    pool: int = 0
    """About how many addresses it has, if more than are kept; known to this process alone."""
    asked: float | None = None
    """When it was last asked for, by this process."""
    wait: float = 0.0
    """Seconds from `asked` to the next question."""
    problems: tuple[str, ...] = ()
    """Of the last question: each server that did not answer, with the reason; for people."""
    aliases: tuple[SeenAlias, ...] = ()
    """Sorted by name; they leave as addresses do."""


UNASKED = LearntName()
"""Of a name that nobody has asked for yet."""


def learn(
    before: LearntName,
    replies: Iterable[DnsReply],
    now: float,
    settings: NamesSettings,
    *,
    in_part: bool = False,
) -> LearntName:
    """Return the record of a name after servers answered, or failed to.

    An address leaves only by an answer in its own family, later than the window after it was last
    seen, that does not show it: while no server answers, all stay. Who answers in which order
    makes no difference. A clock that is put back removes nothing, and what was seen in its future
    counts as seen at most a window ahead. `in_part` says that not all servers were asked: what
    was wrong with the others is still told.
    """
    everyone = sorted(replies, key=lambda reply: (reply.server, reply.family))
    good = [reply for reply in everyone if not reply.problem]
    families = {reply.family for reply in good}
    last = {
        seen.address: min(seen.last, now + settings.window_s)
        for seen in before.seen
        if seen.address.version not in families or now - seen.last <= settings.window_s
    }
    for address in {address for reply in good for address in reply.addresses}:
        last[address] = max(last.get(address, now), now)
    kept = _newest(last, settings.max_addresses)
    aliases = {
        seen.name: min(seen.last, now + settings.window_s)
        for seen in before.aliases
        if not good or now - seen.last <= settings.window_s
    }
    aliases |= {alias: now for reply in good for alias in reply.aliases}
    newest = sorted(aliases.items(), key=lambda each: (-each[1], each[0]))[:_MOST_ALIASES]
    return msgspec.structs.replace(
        before,
        seen=kept,
        answered=now if good else before.answered,
        capped=now if len(kept) < len(last) else _recent(before.capped, now, settings.window_s),
        asked=now,
        wait=_wait(good, settings),
        aliases=tuple(sorted(SeenAlias(*each) for each in newest)),
        problems=(*(_of_others(before, everyone) if in_part else ()), *_problems(everyone)),
    )


def is_due(learnt: LearntName, now: float) -> bool:
    """Return whether a name is to be asked for now; also where the clock was put back."""
    return learnt.asked is None or not 0 <= now - learnt.asked < learnt.wait


def keep_wanted(
    state: Mapping[str, LearntName], wanted: Collection[str], now: float, settings: NamesSettings
) -> dict[str, LearntName]:
    """Return the state with all names that intents name, and others for one window more.

    So what an intent learnt is not lost when it is made anew. Unchanged names stay the same object.
    """
    kept = {}
    for name, learnt in state.items():
        if name not in wanted:
            since = now if learnt.unwanted is None else min(learnt.unwanted, now)
            if now - since <= settings.window_s:
                kept[name] = _with_unwanted(learnt, since)
    for name in wanted:
        kept[name] = _with_unwanted(state.get(name, UNASKED), None)
    return kept


def _with_unwanted(learnt: LearntName, since: float | None) -> LearntName:
    if learnt.unwanted == since:
        return learnt
    return msgspec.structs.replace(learnt, unwanted=since)


def _newest(last: Mapping[Address, float], most: int) -> tuple[SeenAddress, ...]:
    chosen = list(last)
    if len(last) > most:
        chosen = sorted(last, key=lambda one: (-last[one], one.version, int(one)))[:most]
    chosen.sort(key=lambda one: (one.version, int(one)))
    return tuple(SeenAddress(address, last[address]) for address in chosen)


def _recent(time: float | None, now: float, window_s: float) -> float | None:
    return time if time is not None and now - time <= window_s else None


def _wait(good: Iterable[DnsReply], settings: NamesSettings) -> float:
    shortest = min((reply.ttl for reply in good), default=0)
    return min(max(float(shortest), settings.min_refresh_s), settings.max_refresh_s)


def _of_others(before: LearntName, replies: Iterable[DnsReply]) -> Iterable[str]:
    asked = {reply.server for reply in replies}
    return (each for each in before.problems if each.partition(" ")[0] not in asked)


def _problems(replies: Iterable[DnsReply]) -> tuple[str, ...]:
    """Return each once: most servers fail alike in both families."""
    return tuple(
        dict.fromkeys(
            f"{reply.server} {reply.problem}"
            for reply in replies
            if reply.problem and not reply.is_extra
        )
    )
