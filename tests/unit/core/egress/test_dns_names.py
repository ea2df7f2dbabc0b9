"""DNS names of allowlists: what can be written, what is said of the rest, what a pattern means."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidObjectError
from core.egress.dns_names import check_dns_name, is_wildcard, matches_name, readable_name

LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
NAMES = st.lists(LABELS, min_size=2, max_size=4).map(".".join)


@pytest.mark.parametrize(
    "name",
    [
        "packages.example.org",
        "*.blob.core.windows.net",
        "gpu-*.example.org",
        "*-west.example.org",
        "a.*.example.org",
        "*.*.example.org",
        "*.org",
        "*",
        "a-b.c1.example",
        "1.example",
        "xn--bcher-kva.example",
        "xn--strae-oqa.example",
        "xn--fiqs8s.xn--fiqs8s",
        f"{'a' * 63}.example",
        "my_bucket.example",
        "_service._tcp.example",
    ],
)
def test_sound_names_are_taken(name: str) -> None:
    """Exact names, wildcards in front, punycode of 2003 and of 2008."""
    check_dns_name(name, field="f", what="w")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("packages.example.org.", "ends in a dot: write 'packages.example.org'"),
        ("*.packages.example.org.", "ends in a dot: write '*.packages.example.org'"),
        ("Packages.Example.org", "has capital letters: write 'packages.example.org'"),
        ("bücher.example", "is not ASCII: write 'xn--bcher-kva.example'"),
        ("STRAẞE.example", "is not ASCII: write 'xn--strae-oqa.example'"),
        ("*.bücher.example", "is not ASCII: write '*.xn--bcher-kva.example'"),
        ("www.example.*", "has a wildcard in its last label"),
        ("www.c*", "has a wildcard in its last label"),
        ("gpu-*", "has a wildcard in its last label"),
        ("**", "has a wildcard in its last label"),
        ("**.example.com", "has two wildcards in one label"),
        ("a*b*.example.com", "has two wildcards in one label"),
        ("-*.example.com", "must be a DNS name"),
        ("localhost", "has no dot: each Pod's search list would decide what it means"),
        ("10.0.0.1", "is an address, or like one: use `cidr`"),
        ("*.0.1", "is an address, or like one: use `cidr`"),
        ("a..example", "must be a DNS name"),
        ("-a.example", "must be a DNS name"),
        ("a b.example", "must be a DNS name"),
        ("packages.example.org\n", "must be a DNS name"),
        ("https://packages.example.org", "must be a DNS name"),
        ("packages.example.org:443", "must be a DNS name"),
        ("*.", "must be a DNS name"),
        (".", "ends in a dot"),
        (f"{'a' * 64}.example", "must be a DNS name"),
        (".".join(["a" * 49] * 6), "must be a DNS name"),
        ("xn--a.example", "has the label 'xn--a', which is no valid punycode"),
        ("xn--.example", "must be a DNS name"),
        ("xn--abc-.example", "must be a DNS name"),
        ("xn--99999999999.example", "which is no valid punycode"),
        ("ab--cd.example", "has the label 'ab--cd', which is no valid punycode"),
    ],
)
def test_any_other_is_refused_with_what_to_write(name: str, why: str) -> None:
    """The error names the field and what is wrong; where one name is meant, that name."""
    with pytest.raises(InvalidObjectError) as error:
        check_dns_name(name, field="spec.to[0].dnsName", what="EgressAllowlist a")
    assert error.value.field == "spec.to[0].dnsName"
    assert why in error.value.problem


@given(st.text(max_size=40))
def test_whatever_is_written_is_told_and_never_fails(text: str) -> None:
    """Taken, or an error of ours; and what is taken is lower-case ASCII without a last dot."""
    try:
        check_dns_name(text, field="f", what="w")
    except InvalidObjectError:
        return
    assert text == text.lower()
    assert text.isascii()
    assert not text.endswith(".")


@given(LABELS, NAMES)
def test_what_is_suggested_for_umlauts_is_taken(label: str, name: str) -> None:
    """Whoever writes what the error says is not told off again."""
    with pytest.raises(InvalidObjectError) as error:
        check_dns_name(f"ü{label.replace('--', '-')}.{name}", field="f", what="w")
    _, _, suggested = error.value.problem.partition("write ")
    assert suggested.startswith("'xn--")


@given(NAMES, LABELS)
def test_a_wildcard_means_more_labels_before_it_and_not_the_name(name: str, label: str) -> None:
    """One or more labels; never the name itself, and never one that only ends alike."""
    pattern = f"*.{name}"
    assert matches_name(pattern, f"{label}.{name}")
    assert matches_name(pattern, f"{label}.{label}.{name}")
    assert not matches_name(pattern, name)
    assert not matches_name(pattern, f"{label}{name}")
    assert not matches_name(pattern, f".{name}")
    assert matches_name("*", name)
    assert matches_name(name, name)


def test_patterns_are_told_from_names() -> None:
    """Only what has a star is one."""
    found = [is_wildcard(each) for each in ("*", "*.a.b", "a*.b.c", "a.*.b", "a.b")]
    assert found == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("gpu-*.example.org", ["gpu-1.example.org", "gpu-.example.org"], ["gpu-1.a.example.org"]),
        ("*-w.example.org", ["b-w.example.org", "-w.example.org"], ["a.b-w.example.org"]),
        ("a.*.example.org", ["a.b.example.org"], ["a.b.c.example.org", "a.example.org"]),
        ("*.a*.example.org", ["x.y.ab.example.org", "x.a.example.org"], ["ab.example.org"]),
        ("a+b*.example.org", [], ["aab1.example.org"]),
    ],
)
def test_a_star_in_a_label_stays_in_it(pattern: str, inside: list[str], outside: list[str]) -> None:
    """In front, as a label of its own, it stands for labels; elsewhere for letters of one."""
    assert [name for name in inside if not matches_name(pattern, name)] == []
    assert [name for name in outside if matches_name(pattern, name)] == []


def test_a_hostile_pattern_takes_no_longer() -> None:
    """As many stars as labels, over the longest name."""
    began = time.perf_counter()
    for _ in range(100):
        matches_name(".".join(["*"] * 120) + ".example", ".".join(["a"] * 126))
    assert time.perf_counter() - began < 1


def test_punycode_is_shown_as_people_read_it() -> None:
    """Also where a label looks like another; what is no punycode stays."""
    assert readable_name("xn--80ak6aa92e.com") == "аррӏе.com"
    assert readable_name("*.xn--bcher-kva.example") == "*.bücher.example"
    assert readable_name("packages.example.org") == "packages.example.org"
    assert readable_name("xn--a.example") == "xn--a.example"
