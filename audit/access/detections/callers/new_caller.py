"""4: a principal, a tool or a place that a container has not been read from before."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.azure_scanners import is_malware_scan
from audit.access.model.coverage import Coverage, Same
from audit.access.model.detection import Detection, EventContext, Tunable, YoungBaseline
from audit.access.model.findings import make_finding, moment_text
from audit.access.model.sightings import LISTED, agent_family, is_news, network_of, origin_of, touch
from core.base.times import DAY_S
from core.weights.documents.access import Access, Act, Caller, Confidence
from core.weights.documents.events import Finding, Severity

_MOST_CONTAINERS: Final = 256
_MOST_WORDS: Final = 4096
_MOST_COMBINATIONS: Final = 8192
_FORGET_DAYS: Final = 120


class ContainerReaders(msgspec.Struct, gc=False, array_like=True):
    """What is known of who reads one container, each with the day of its last use."""

    since: float
    principals: dict[str, int] = {}
    agents: dict[str, int] = {}
    networks: dict[str, int] = {}


class NewCallerState(msgspec.Struct):
    """What this detection remembers."""

    containers: dict[str, ContainerReaders] = {}
    today: dict[str, int] = {}
    """Combinations that were looked at on the day: most accesses end here."""
    raised: dict[str, int] = {}


def _see(access: Access, state: NewCallerState, known: EventContext) -> Sequence[Finding]:
    if not known.done:
        return ()
    words = (access.account, access.container, known.who, access.address, access.user_agent)
    seen = "\n".join(words)
    if state.today.get(seen) == known.day:
        return ()
    if len(state.today) >= _MOST_COMBINATIONS:
        state.today.clear()
    state.today[seen] = known.day
    where = f"{access.account}/{access.container}"
    container = touch(
        state.containers, where, lambda: ContainerReaders(since=known.at), _MOST_CONTAINERS
    )
    is_learning = known.at < container.since + known.tuned["new_caller_learning_days"] * DAY_S
    news = _news(access, container, known.day)
    if not news or is_learning:
        return ()
    severity = _severity(access, news)
    name = f"{where} {known.who} {known.day}"
    if severity is None or not is_news(state.raised, name, _LEVELS[severity]):
        return ()
    return [
        make_finding(
            DETECTION,
            access,
            known,
            (where, known.who, str(known.day), severity.value),
            severity,
            f"{known.who} reads {where} with something new: {', '.join(news)}",
            "; ".join(f"new {what}: {value}" for what, value in news.items())
            + f". From {origin_of(access)} with {agent_family(access.user_agent) or 'no agent'}. "
            f"The container is known since {moment_text(container.since)}.",
            amount=access.bytes_out,
        )
    ]


def _news(access: Access, container: ContainerReaders, day: int) -> dict[str, str]:
    """Note who came how from where; give what was not known."""
    news = {}
    who = access.who
    if _is_new(container.principals, who, day):
        news["principal"] = who
    family = agent_family(access.user_agent)
    if family and _is_new(container.agents, family, day):
        news["tool"] = family
    if access.caller not in LISTED and access.caller is not Caller.NONE:
        network = network_of(access.address)
        if _is_new(container.networks, network, day):
            news["place"] = network
    return news


def _is_new(words: dict[str, int], word: str, day: int) -> bool:
    last = words.pop(word, None)
    if last is None and len(words) >= _MOST_WORDS:
        del words[next(iter(words))]
    words[word] = day if last is None else max(day, last)
    return last is None or last < day - _FORGET_DAYS


def _severity(access: Access, news: dict[str, str]) -> Severity | None:
    """Say how grave it is; None where a grant and a Pod account for it."""
    is_accounted = (
        bool(access.grant) and access.attribution.confidence is not Confidence.UNATTRIBUTED
    )
    if is_malware_scan(access):
        return Severity.LOW
    if access.caller is Caller.PUBLIC and "place" in news:
        return Severity.HIGH
    if is_accounted:
        # A new researcher's first week, a new identity in place of an old one: that was approved.
        known_place = "place" not in news
        return None if known_place and "tool" not in news else Severity.LOW
    return Severity.HIGH if len(news) > 1 else Severity.MEDIUM


_LEVELS: Final = {Severity.LOW: 1, Severity.MEDIUM: 2, Severity.HIGH: 3}


def _young(state: NewCallerState, now: float) -> Sequence[YoungBaseline]:
    days = _LEARNING.value
    return [
        YoungBaseline(
            detection=DETECTION.id,
            subject=where,
            why=f"known since {moment_text(container.since)}; "
            f"who reads it is learnt for {days:.0f} days",
        )
        for where, container in state.containers.items()
        if now < container.since + days * DAY_S
    ]


_LEARNING: Final = Tunable(
    "new_caller_learning_days",
    14,
    "days",
    "two weeks see each weekday twice, and the nightly and weekly jobs",
)

DETECTION: Final = Detection(
    id="new-caller",
    number=4,
    title="A new principal, tool or place for this container",
    about="Who, with which tool (the user agent's first product, without versions) and from which "
    "network (/24 or /48, where the operator listed none) reads a container is learnt for two "
    "weeks. Later, what is new is found, once for principal, container and day. A new principal "
    "whose access a live grant covers and whose Pod is known is quiet: a new researcher, a new "
    "identity in place of an old one. Networks that the operator listed are never new, so Pods "
    "that come and go are quiet; list a VPN's, whose addresses change. Microsoft Defender's "
    "scanner, told by Azure's role for it, is low.",
    severity=Severity.HIGH,
    techniques=("AML.T0012", "T1078.004", "T1530"),
    needs=("the StorageRead log", "the operator's lists of networks", "two weeks of records"),
    blind=(
        "an intruder who was there in the first two weeks, or uses the owner's tool from the "
        "owner's network",
        "user agents are chosen by the caller",
        "where in the world an address lies",
    ),
    remedy="Ask the store's owner whether this principal, tool or place is meant to read it. List "
    "the network, or end the access.",
    bound=f"{_MOST_CONTAINERS} containers with {_MOST_WORDS} principals, tools and networks each; "
    f"{_MOST_COMBINATIONS} combinations of the day",
    begin=NewCallerState,
    see=_see,
    acts=frozenset({Act.READ, Act.COPY}),
    covers={
        "": Coverage(
            lambda access: access.succeeded, frozenset({Same.ACCOUNT, Same.CONTAINER, Same.WHO})
        )
    },
    tuning=(_LEARNING,),
    young=_young,
)
