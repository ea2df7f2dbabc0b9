"""However many allowlists a namespace has, they open no more without approval than one may."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from core.base.networks import merge_spans
from core.egress.allowlists import EgressAllowlist
from egress.limits.breadth import (
    Limits,
    breadth_reasons,
    combined_breadth_reasons,
    excess_reasons,
    reach_of,
)
from egress.model.facts import NO_TAGS
from tests.unit.egress.allowlist_objects import allowlist

LIMITS = Limits()


def made(hour: int, *cidrs: str) -> EgressAllowlist:
    """Return an allowlist of networks that was made at an hour."""
    found = allowlist(*({"cidr": cidr} for cidr in cidrs), name=f"a{hour}")
    meta = msgspec.structs.replace(found.meta, creation_timestamp=f"2026-01-01T{hour:02}:00:00Z")
    return msgspec.structs.replace(found, meta=meta)


def closed(*allowlists: EgressAllowlist) -> list[str]:
    """Name those that open nothing."""
    found = combined_breadth_reasons(allowlists, LIMITS, NO_TAGS)
    return [each.meta.name for each in allowlists if each.meta.uid in found]


def test_the_newest_that_goes_beyond_stays_closed() -> None:
    """In any order in which they are looked at; the reason says what to do."""
    parts = [made(hour, f"20.{hour * 2}.0.0/17") for hour in (3, 1, 2)]
    assert closed(*parts) == closed(*reversed(parts)) == ["a3"]
    (reason,) = combined_breadth_reasons(parts, LIMITS, NO_TAGS).values()
    assert "its 3 IPv4 networks are together more than a /16" in reason
    assert "put these networks or ports into one allowlist" in reason


def test_a_smaller_one_may_still_fit() -> None:
    """One that is closed takes no room from those after it."""
    assert closed(made(1, "20.0.0.0/16"), made(2, "20.2.0.0/17"), made(3, "20.0.1.0/24")) == ["a2"]


def test_what_is_broad_by_itself_is_none_of_it() -> None:
    """Two people answer for it; it neither closes others nor is closed by them."""
    assert closed(made(1, "0.0.0.0/1"), made(2, "20.0.0.0/17"), made(3, "128.0.0.0/1")) == []


def test_what_no_cluster_has_yet_is_the_newest() -> None:
    """One of a file closes none that is stored; so `sallyport egress plan` says what comes."""
    file = msgspec.structs.replace(
        (new := made(9, "20.0.0.0/17")),
        meta=msgspec.structs.replace(new.meta, creation_timestamp=None),
    )
    assert closed(file, made(1, "20.2.0.0/17"), made(2, "20.4.0.0/17")) == ["a9"]


def test_names_never_add_up() -> None:
    """Only addresses do."""
    assert closed(*(allowlist({"dnsName": f"a{n}.example"}, name=f"n{n}") for n in range(50))) == []


@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 15), st.integers(16, 20)), min_size=1, max_size=2, unique=True
        ),
        max_size=6,
    )
)
def test_what_stays_open_is_never_too_much(chosen: list[list[tuple[int, int]]]) -> None:
    """And whatever is closed would go beyond: opening it as well is too much."""
    found = [
        made(hour, *sorted({f"20.{octet}.0.0/{prefix}" for octet, prefix in parts})[:1])
        for hour, parts in enumerate(chosen)
    ]
    shut = combined_breadth_reasons(found, LIMITS, NO_TAGS)
    small = [each for each in found if not breadth_reasons(each.spec.to, LIMITS, NO_TAGS)]
    opened = [each for each in small if each.meta.uid not in shut]
    spans = [span for each in opened for span in reach_of(each.spec.to, NO_TAGS)]
    assert not [*excess_reasons(merge_spans(spans), LIMITS)]
    for each in small:
        if each.meta.uid in shut:
            more = [*spans, *reach_of(each.spec.to, NO_TAGS)]
            assert [*excess_reasons(merge_spans(more), LIMITS)]


def test_ports_of_several_allowlists_are_counted_together() -> None:
    """All ports, spread over allowlists of which none is broad by itself."""
    ports = [{"protocol": "TCP", "port": n * 4096 + 1, "endPort": n * 4096 + 4096} for n in (0, 1)]
    first, second = (
        msgspec.structs.replace(
            (found := allowlist({"dnsName": "a.example", "ports": [each]}, name=f"a{hour}")),
            meta=msgspec.structs.replace(
                found.meta, creation_timestamp=f"2026-01-01T{hour:02}:00:00Z"
            ),
        )
        for hour, each in enumerate(ports)
    )
    assert closed(second, first) == ["a1"]
