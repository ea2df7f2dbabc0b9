"""Whether a ContainerProfile becomes wider: a change that is not told must not let anything in."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.approvals.profile_widening import find_widenings, profile_digest, profile_proposal
from core.profiles.container_profiles import (
    ContainerProfile,
    ProfileSpec,
    build_profile_set,
    parse_profile,
)
from core.profiles.defaults import Defaults

SPEC: dict[str, Any] = {
    "rank": 5,
    "catalogue": 2,
    "privileges": ["host/port/*", "capability/NET_ADMIN"],
    "includes": ["base"],
    "relaxations": [{"minimumVersion": "1.33", "privileges": ["run-as/root"]}],
    "defaults": {
        "seccompProfile": {"type": "RuntimeDefault"},
        "capabilities": {"drop": ["NET_RAW", "SYS_CHROOT"]},
        "allowPrivilegeEscalation": False,
        "automountServiceAccountToken": False,
        "env": [{"name": "A", "value": "b"}],
    },
}


def profile(name: str = "gpu", **spec: Any) -> ContainerProfile:
    """Return a profile as kube-apiserver would."""
    made = {"apiVersion": "sallyport.dev/v1alpha1", "kind": "ContainerProfile"}
    body = {**made, "metadata": {"name": name}, "spec": {**SPEC, **spec}}
    return parse_profile(json.dumps(body).encode())


def defaults(**fields: Any) -> dict[str, Any]:
    """Return the defaults with fields changed; None takes one away."""
    changed = {**SPEC["defaults"], **fields}
    return {name: value for name, value in changed.items() if value is not None}


def relaxed(version: str, *privileges: str) -> list[dict[str, Any]]:
    """Return a relaxation."""
    return [{"minimumVersion": version, "privileges": list(privileges)}]


WIDER: dict[str, tuple[dict[str, Any], str]] = {
    "a pattern": ({"privileges": ["host/port/*", "host/pid"]}, "covers host/pid"),
    "a wildcard": ({"privileges": ["host/port/**"]}, "covers host/port/**"),
    "an include": ({"includes": ["base", "more"]}, "includes more"),
    "an earlier relaxation": (
        {"relaxations": relaxed("1.30", "run-as/root")},
        "covers run-as/root from Kubernetes 1.30 on",
    ),
    "another relaxation": (
        {"relaxations": relaxed("1.33", "run-as/unset")},
        "covers run-as/unset from Kubernetes 1.33 on",
    ),
    "what was relaxed, always": ({"privileges": ["run-as/root"]}, "covers run-as/root"),
    "an older catalogue": ({"catalogue": 1}, "only warns of what came after catalogue 1"),
    "another rank": ({"rank": 4}, "is tried at rank 4 and not 5"),
    "no defaults": ({"defaults": None}, "no longer fills in seccompProfile"),
    "no seccomp": (
        {"defaults": defaults(seccompProfile=None)},
        "no longer fills in seccompProfile",
    ),
    "a token": (
        {"defaults": defaults(automountServiceAccountToken=None)},
        "no longer fills in automountServiceAccountToken",
    ),
    "escalation": (
        {"defaults": defaults(allowPrivilegeEscalation=None)},
        "no longer fills in allowPrivilegeEscalation",
    ),
    "fewer capabilities dropped": (
        {"defaults": defaults(capabilities={"drop": ["NET_RAW"]})},
        "no longer drops SYS_CHROOT",
    ),
    "another value": (
        {"defaults": defaults(env=[{"name": "A", "value": "c"}])},
        "no longer fills in the variable A as it did",
    ),
    "one more variable": (
        {"defaults": defaults(env=[{"name": "A", "value": "b"}, {"name": "LD_PRELOAD"}])},
        "fills in the variable LD_PRELOAD",
    ),
    "the same variable, before the one that was there": (
        {"defaults": defaults(env=[{"name": "A", "value": "c"}, {"name": "A", "value": "b"}])},
        "no longer fills in the variable A as it did",
    ),
}
NARROWER: dict[str, dict[str, Any]] = {
    "as it is": {},
    "described": {"description": "for the lab"},
    "fewer patterns": {"privileges": ["capability/NET_ADMIN"]},
    "one of many": {"privileges": ["host/port/80", "capability/NET_ADMIN"]},
    "nothing included": {"includes": []},
    "relaxed later": {"relaxations": relaxed("1.34", "run-as/root")},
    "relaxed by what it covers": {"relaxations": relaxed("1.20", "host/port/1")},
    "a newer catalogue": {"catalogue": 3},
    "all dropped": {"defaults": defaults(capabilities={"drop": ["ALL"]})},
}


@pytest.mark.parametrize("case", WIDER)
def test_what_becomes_wider_is_said(case: str) -> None:
    """Each in the words that approvers and authors read."""
    changed, says = WIDER[case]
    assert says in find_widenings(profile(), profile(**changed))


@pytest.mark.parametrize("case", NARROWER)
def test_what_becomes_narrower_needs_nobody(case: str) -> None:
    """Whoever takes something away is not made to wait."""
    assert find_widenings(profile(), profile(**NARROWER[case])) == []


def test_variables_in_another_order_fill_in_another_value() -> None:
    """The first of a name is filled in where it may be."""
    one, other = {"name": "A", "value": "b", "withoutResources": ["gpu"]}, {"name": "A"}
    old = profile(defaults=defaults(env=[one, other]))
    new = profile(defaults=defaults(env=[other, one]))
    assert find_widenings(old, new) == ["no longer fills in the variable A as it did"]


def test_each_field_is_weighed() -> None:
    """A field that is added to profiles stands here once somebody has said when it widens."""
    assert set(ProfileSpec.__struct_fields__) - {"description"} == {
        *("privileges", "relaxations", "includes", "catalogue", "rank", "sandbox", "defaults")
    }
    assert set(Defaults.__struct_fields__) == {
        *("seccomp_profile", "allow_privilege_escalation", "automount_service_account_token"),
        *("capabilities", "env", "namespace_ids"),
    }


def test_ids_of_the_namespace_that_are_no_longer_filled_in_widen() -> None:
    """And fsGroup that is: the kubelet gives it the files of a whole share."""
    none, some = profile(), profile(defaults=defaults(namespaceIds=["runAsUser"]))
    assert find_widenings(none, some) == []
    assert find_widenings(some, none) == ["no longer fills in runAsUser from the namespace"]
    more = profile(defaults=defaults(namespaceIds=["runAsUser", "fsGroup"]))
    assert find_widenings(some, more) == ["fills in fsGroup from the namespace"]


def test_a_new_profile_is_wider_than_none() -> None:
    """Whatever it covers."""
    assert find_widenings(None, profile(privileges=[])) == ["is new"]


_SEGMENTS = st.sampled_from(["a", "b", "*"])
_PATTERNS = st.lists(
    st.builds(
        lambda segments, last: "/".join([*segments, *last]),
        st.lists(_SEGMENTS, min_size=1, max_size=3),
        st.sampled_from([[], ["**"]]),
    ),
    max_size=4,
)
_RELAXED = st.lists(
    st.builds(
        lambda version, patterns: {"minimumVersion": version, "privileges": patterns},
        st.sampled_from(["1.20", "1.30", "1.33"]),
        _PATTERNS,
    ),
    max_size=2,
)
_SPECS = st.fixed_dictionaries(
    {"privileges": _PATTERNS, "relaxations": _RELAXED, "includes": st.just([])}
)


@given(_SPECS, _SPECS, st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=5))
def test_what_is_not_said_covers_nothing_more(
    old: dict[str, Any], new: dict[str, Any], privilege: list[str]
) -> None:
    """On no version of Kubernetes, whatever is asked: else it would be let in unapproved."""
    before, after = profile(**old), profile(**new)
    if find_widenings(before, after):
        return
    for version in ((1, 19), (1, 20), (1, 31), (1, 36)):
        (was,) = build_profile_set([before], version).ordered
        (now,) = build_profile_set([after], version).ordered
        asked = "/".join(privilege)
        assert was.covers(asked) or not now.covers(asked)


def test_a_digest_is_of_what_is_meant() -> None:
    """Not of how it is written: kube-apiserver fills in and leaves out; another name is another."""
    one = profile(description="", relaxations=[], includes=[], defaults=None)
    other = profile(description=None, relaxations=None, includes=None, defaults=None, rank=5.0)
    assert profile_digest(one) == profile_digest(other)
    digests = {profile_digest(profile(**changed)) for changed, _ in WIDER.values()}
    assert len(digests) == len(WIDER)
    assert profile_digest(profile("other")) != profile_digest(profile())
    assert profile_proposal(one, "", frozenset()).uid == "profile:none"
    assert profile_proposal(one, "0b1c", frozenset()).uid == "profile:0b1c"
