"""Bursts of questions for one name, and how much of its answers has not been seen yet. Pure.

A name with many addresses shows a few of them in each answer, and a caching server repeats one
answer until its TTL ends. So in a burst each question is asked anew as soon as its answer may have
changed, at each server, and the share of what is still unseen is estimated from how often each
address came (I. J. Good, "The population frequencies of species and the estimation of population
parameters", Biometrika 40, 1953; of answers with several addresses each: A. Chao, L. Jost,
"Coverage-based rarefaction and extrapolation", Ecology 93, 2012).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from core.base.networks import Address
from egress.dns.learnt_names import DnsReply, LearntName, NamesSettings, QuestionKey

SHARE_LIMIT: Final = 0.05
"""A name is learnt once an estimated share of connections of at most this would be refused."""

_LEAST_ANSWERS: Final = 2
"""One answer says nothing of others."""
_LEAST_AGAIN: Final = 10
"""Answers by which a name that was learnt already counts as unlearnt again."""
_MOST_ANSWERS: Final = 512
"""After so many the counts begin anew: pools drift."""
_SAME_S: Final = 2.0
"""Two answers with the same addresses that end so near to each other are one: TTLs are whole
seconds, and servers that ask the same cache behind them get the same record."""
_PACE_S: Final = 0.5
"""The pause before a question whose answer may not be remembered (TTL 0)."""
_FEW_PERCENT: Final = 10
_FAR_MORE: Final = 1.5
"""The estimate of a pool's size strays by less than this, at as many answers as there are then."""


LONGEST_S: Final = 900.0
"""Of a burst: whoever answers something new each time is asked as any other name after that."""
_MOST_POOLS: Final = 4
"""Of `max_addresses`: so many addresses are counted of one name."""


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """Answers in one family since the counting began, each record counted once."""

    answers: int = 0
    addresses: Mapping[Address, int] = field(default_factory=dict)
    """In how many of the answers each was."""
    valid: tuple[tuple[tuple[Address, ...], float], ...] = ()
    """Answers whose TTL has not ended, each with that time in Unix seconds."""

    def add(self, addresses: tuple[Address, ...], now: float, ttl: int) -> "AnswerCounts":
        """Return the counts with one more answer, unless it is one of those before."""
        ends = now + ttl
        valid = tuple(each for each in self.valid if each[1] >= now)
        if any(one == addresses and abs(end - ends) <= _SAME_S for one, end in valid):
            return replace(self, valid=valid)
        counts = dict(self.addresses)
        for address in addresses:
            counts[address] = counts.get(address, 0) + 1
        return AnswerCounts(self.answers + 1, counts, (*valid, (addresses, ends)))


@dataclass(frozen=True, slots=True)
class Burst:
    """One burst of questions for a name."""

    newest: float
    """Unix seconds when an address last came that was not known, at first when it began."""
    first: bool
    """Whether the name had never been learnt before."""
    began: float = 0.0
    """Unix seconds."""
    known: frozenset[Address] = frozenset()
    """Addresses that were known before."""
    counts: Mapping[int, AnswerCounts] = field(default_factory=dict)
    """By family, 4 and 6."""
    due: Mapping[QuestionKey, float] = field(default_factory=dict)
    """Unix seconds when each question is to be asked again."""
    share: float | None = None
    """The last estimate of what is refused; None while too few answers came."""


def begin_burst(learnt: LearntName, now: float) -> Burst:
    """Return the burst of a name that is new, or about to show a new address."""
    known = frozenset(each.address for each in learnt.seen)
    return Burst(now, not known or learnt.learning is not None, began=now, known=known)


def is_question_due(burst: Burst, key: QuestionKey, now: float, settings: NamesSettings) -> bool:
    """Return whether the last answer may have changed; also where the clock was put back."""
    return not now < burst.due.get(key, now) <= now + settings.max_refresh_s


def ask_anew(burst: Burst) -> Burst:
    """Return the burst with each question due now: somebody was answered meanwhile."""
    return replace(burst, due={})


def note_reply(burst: Burst, reply: DnsReply, now: float, settings: NamesSettings) -> Burst:
    """Return the burst after a reply: its addresses counted, and when it is due again."""
    wait = settings.min_refresh_s
    if not reply.problem:
        wait = min(max(float(reply.ttl), _PACE_S), settings.max_refresh_s)
    due = {**burst.due, reply.key: now + wait}
    if reply.problem or not reply.addresses:
        return replace(burst, due=due)
    most = _MOST_POOLS * settings.max_addresses
    some = reply.addresses[:most]
    counts = burst.counts.get(reply.family, AnswerCounts())
    if counts.answers >= _MOST_ANSWERS or len(counts.addresses) > most:
        known = burst.known if len(burst.known) > most else burst.known | counts.addresses.keys()
        burst = replace(burst, known=known)
        counts = AnswerCounts(valid=counts.valid)
    is_new = any(each not in burst.known and each not in counts.addresses for each in some)
    counted = counts.add(some, now, reply.ttl)
    return replace(
        burst,
        newest=now if is_new else burst.newest,
        counts={**burst.counts, reply.family: counted},
        due=due,
    )


def estimate_share(learnt: LearntName, burst: Burst) -> Burst:
    """Return the burst with a new estimate, where there are answers enough for one."""
    answers = max((each.answers for each in burst.counts.values()), default=0)
    if answers < (_LEAST_ANSWERS if burst.first else _LEAST_AGAIN):
        return burst
    return replace(burst, share=_refused_share(learnt, burst))


def is_over(
    burst: Burst, questions: Collection[QuestionKey], now: float, settings: NamesSettings
) -> bool:
    """Return whether nothing new has come for `quiet_s`, though each question has been asked.

    Or whether it has taken so long that its owner may be playing with us.
    """
    if not 0 <= now - burst.began < LONGEST_S:
        return True
    is_quiet = not 0 <= now - burst.newest < settings.quiet_s
    return is_quiet and all(each in burst.due for each in questions)


def judge_burst(
    learnt: LearntName, burst: Burst, now: float, settings: NamesSettings, *, over: bool
) -> LearntName:
    """Return a name with what is to be told of its burst; `over` is whether that is.

    A name is learnt when its burst is over and at most `SHARE_LIMIT` of the connections would be
    refused. One that was learnt before counts as unlearnt only by the latter.
    """
    unlearnt = (burst.first and not over) or is_unlearnt(burst)
    if not learnt.seen or not unlearnt:
        return msgspec.structs.replace(learnt, learning=None, refused=None, pool=0)
    return msgspec.structs.replace(
        learnt,
        learning=now if learnt.learning is None else min(learnt.learning, now),
        refused=None if burst.share is None else _coarse_percent(burst.share),
        pool=_large_pool(burst, settings.max_addresses),
    )


def is_unlearnt(burst: Burst) -> bool:
    """Return whether more connections than `SHARE_LIMIT` would be refused, by the last estimate."""
    return burst.share is not None and burst.share > SHARE_LIMIT


def _refused_share(learnt: LearntName, burst: Burst) -> float:
    """Return the estimated share of answers' addresses that are not open, of the worse family.

    Not open are those that never came, by the share of those that came once, and those that came
    and did not stay, because there are too many.
    """
    open_now = {each.address for each in learnt.seen}
    shares = []
    for counts in burst.counts.values():
        total = sum(counts.addresses.values())
        if counts.answers >= _LEAST_ANSWERS:
            unseen = _once(counts, burst.known) / total
            kept = sum(many for each, many in counts.addresses.items() if each in open_now)
            shares.append(1 - (1 - unseen) * kept / total)
    return max(shares, default=1.0)


def _large_pool(burst: Burst, most: int) -> int:
    """Return about how many addresses a family has at least, if far more than `most`; else 0.

    A. Chao, "Nonparametric estimation of the number of classes in a population", Scandinavian
    Journal of Statistics 11, 1984, as corrected for bias.
    """
    sizes = [0.0]
    for family, counts in burst.counts.items():
        once = _once(counts, burst.known)
        twice = sum(many == 2 for many in counts.addresses.values())  # noqa: PLR2004
        there = counts.addresses.keys() | {each for each in burst.known if each.version == family}
        sizes.append(len(there) + once * (once - 1) / (2 * (twice + 1)))
    largest = max(sizes)
    return int(round(largest, -2)) if largest > _FAR_MORE * most else 0


def _once(counts: AnswerCounts, known: frozenset[Address]) -> int:
    return sum(many == 1 and each not in known for each, many in counts.addresses.items())


def _coarse_percent(share: float) -> int:
    """Return a share so rounded that it is not told anew at each answer."""
    percent = share * 100
    return int(round(percent, -1)) if percent >= _FEW_PERCENT else 5
