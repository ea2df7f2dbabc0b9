"""The CRD and the Python types accept and refuse the same ContainerProfiles."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from core.base.errors import InvalidObjectError
from core.profiles.container_profiles import parse_profile
from tests.api.kube.objects import profile
from tests.harness.programs.client import Client

Spec = dict[str, Any]
GOOD: Spec = {"rank": 1, "catalogue": 1, "privileges": ["host/network"]}


def spec_with(**fields: Any) -> Spec:
    """Return GOOD with other fields."""
    return {**GOOD, **fields}


def _default(**fields: Any) -> Spec:
    return spec_with(defaults=fields)


def _env(**fields: Any) -> Spec:
    variable = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}
    return _default(env=[{**variable, "withoutResources": ["nvidia.com/*"], **fields}])


DEFAULTS_ACCEPTED: dict[str, Spec] = {
    "no defaults": spec_with(defaults={}),
    "defaults are null": spec_with(defaults=None),
    "a default variable": _env(),
    "for all containers": _env(withoutResources=[]),
    "all defaults": _default(
        seccompProfile={"type": "RuntimeDefault"},
        capabilities={"drop": ["ALL", "NET_RAW"]},
        allowPrivilegeEscalation=False,
        automountServiceAccountToken=False,
        env=[],
    ),
    "nulls among defaults": _default(
        seccompProfile=None,
        capabilities=None,
        allowPrivilegeEscalation=None,
        automountServiceAccountToken=None,
        env=None,
    ),
    "nulls in a variable": _env(value=None, withoutResources=None),
    "no device": _env(value="none"),
    "empty device": _env(value=""),
    "a variable of libraries that is empty": _env(name="CUDA_VISIBLE_DEVICES", value=""),
    "any value of another variable": _env(name="VISIBLE_DEVICES", value="all"),
    "IDs of the namespace": _default(
        namespaceIds=[
            "runAsUser",
            "runAsGroup",
            "fsGroup",
            "supplementalGroups",
            "supplementalGroupsPolicy",
        ]
    ),
    "no IDs of the namespace": _default(namespaceIds=[]),
    "IDs of the namespace are null": _default(namespaceIds=None),
    "most variables": spec_with(defaults={"env": [{"name": f"V{index}"} for index in range(16)]}),
}

DEFAULTS_REFUSED: dict[str, Spec] = {
    "defaults of another kind": spec_with(defaults={"runAsUser": 1}),
    "defaults are a list": spec_with(defaults=[]),
    "default user": _default(runAsNonRoot=True),
    "default without a value": _default(unknown=None),
    "seccomp is absent in it": _default(seccompProfile={}),
    "seccomp from a file": _default(seccompProfile={"type": "Localhost"}),
    "seccomp unconfined": _default(seccompProfile={"type": "Unconfined"}),
    "seccomp with more": _default(
        seccompProfile={"type": "RuntimeDefault", "localhostProfile": "a"}
    ),
    "drops nothing": _default(capabilities={"drop": []}),
    "drops null": _default(capabilities={"drop": None}),
    "adds capabilities": _default(capabilities={"drop": ["ALL"], "add": ["CHOWN"]}),
    "drops lower case": _default(capabilities={"drop": ["all"]}),
    "drops newline": _default(capabilities={"drop": ["ALL\n"]}),
    "drops a long name": _default(capabilities={"drop": ["A" * 64]}),
    "drops too much": _default(capabilities={"drop": [f"A{index}" for index in range(65)]}),
    "escalation": _default(allowPrivilegeEscalation=True),
    "escalation as text": _default(allowPrivilegeEscalation="false"),
    "token": _default(automountServiceAccountToken=True),
    "an unknown ID of the namespace": _default(namespaceIds=["runAsNonRoot"]),
    "an ID of the namespace twice": _default(namespaceIds=["runAsUser", "runAsUser"]),
    "IDs of the namespace are text": _default(namespaceIds="runAsUser"),
    "an ID of the namespace is null": _default(namespaceIds=[None]),
    "all devices": _env(value="all"),
    "another vendor's devices": _env(name="X_VISIBLE_DEVICES", value="0"),
    "devices by another variable": _env(name="NVIDIA_GDS", value="enabled"),
    "void in capitals": _env(value="VOID"),
    "variable without a name": spec_with(defaults={"env": [{"value": "v"}]}),
    "variable with an empty name": _env(name=""),
    "variable with a number": _env(value=1),
    "variable with an unknown field": _env(valueFrom={}),
    "variable with too long a value": _env(value="v" * 1025),
    "variable with an empty resource": _env(withoutResources=[""]),
    "too many variables": spec_with(
        defaults={"env": [{"name": f"V{index}"} for index in range(17)]}
    ),
    "too many resources": _env(withoutResources=["nvidia.com/*"] * 17),
}


def _without(field: str) -> Spec:
    return {key: value for key, value in GOOD.items() if key != field}


def _pattern(pattern: Any) -> Spec:
    return spec_with(privileges=[pattern])


def _relaxed(**fields: Any) -> Spec:
    return spec_with(relaxations=[{"minimumVersion": "1.35", "privileges": ["a"], **fields}])


ACCEPTED: dict[str, Spec] = {
    "plain": GOOD,
    "no privileges": spec_with(privileges=[]),
    "everything": _pattern("**"),
    "one star": _pattern("*"),
    "stars inside": _pattern("a/*/b/*/**"),
    "percent": _pattern("volume/hostPath:ro/a%20b"),
    "three dots": _pattern("a/..."),
    "hidden file": _pattern("a/.b/..c"),
    "longest pattern": _pattern("a" * 1024),
    "most patterns": spec_with(privileges=[f"a/{index}" for index in range(512)]),
    "twice the same": spec_with(privileges=["a", "a"]),
    "rank 0": spec_with(rank=0),
    "rank 1000": spec_with(rank=1000),
    "description": spec_with(description="ä" * 1024),
    "includes": spec_with(includes=["pss-baseline", "a.b-c.d"]),
    "most includes": spec_with(includes=[f"p{index}" for index in range(32)]),
    "null in an optional field": spec_with(description=None, includes=None, relaxations=None),
    "rank 5.0": spec_with(rank=5.0),
    "catalogue 2": spec_with(catalogue=2),
    "catalogue 3": spec_with(catalogue=3),
    "catalogue 4": spec_with(catalogue=4),
    "sandboxed by risk": spec_with(sandbox="by-risk"),
    "sandboxed always": spec_with(sandbox="required"),
    "null for a sandbox": spec_with(sandbox=None),
    **DEFAULTS_ACCEPTED,
    "relaxed": _relaxed(),
    "relaxed by v1.36.3": _relaxed(minimumVersion="v1.36.3"),
    "relaxed by 1.36+": _relaxed(minimumVersion="1.36+"),
    "relaxed by nothing": _relaxed(privileges=[]),
}

REFUSED: dict[str, Any] = {
    "empty spec": {},
    "a sandbox that is never": spec_with(sandbox="never"),
    "a sandbox without a word": spec_with(sandbox=""),
    "a sandbox that is no word": spec_with(sandbox=True),
    "spec is a list": [],
    "spec is null": None,
    "no rank": _without("rank"),
    "no catalogue": _without("catalogue"),
    "no privileges field": _without("privileges"),
    "unknown field": spec_with(privilege=["a"]),
    "privileges is text": spec_with(privileges="a"),
    "privilege is a number": _pattern(1),
    "privilege is null": _pattern(None),
    "empty pattern": _pattern(""),
    "empty segment": _pattern("a//b"),
    "leading slash": _pattern("/a"),
    "trailing slash": _pattern("a/"),
    "dot": _pattern("a/./b"),
    "dots": _pattern("a/../b"),
    "only dots": _pattern(".."),
    "rest in the middle": _pattern("a/**/b"),
    "star in a segment": _pattern("a/b*"),
    "three stars": _pattern("a/***"),
    "space": _pattern("a b"),
    "newline at the end": _pattern("a\n"),
    "umlaut": _pattern("ä"),
    "percent lower": _pattern("a%2f"),
    "percent cut": _pattern("a%2"),
    "question mark": _pattern("a/?"),
    "pattern too long": _pattern("a" * 1025),
    "too many patterns": spec_with(privileges=[f"a/{index}" for index in range(513)]),
    "rank -1": spec_with(rank=-1),
    "rank 1001": spec_with(rank=1001),
    "rank null": spec_with(rank=None),
    "privileges null": spec_with(privileges=None),
    "include null": spec_with(includes=[None]),
    "unknown null": spec_with(unknown=None),
    "rank text": spec_with(rank="1"),
    "rank half": spec_with(rank=1.5),
    "rank true": spec_with(rank=True),
    "catalogue 0": spec_with(catalogue=0),
    "catalogue 5": spec_with(catalogue=5),
    **DEFAULTS_REFUSED,
    "description too long": spec_with(description="a" * 1025),
    "description a number": spec_with(description=1),
    "include with capitals": spec_with(includes=["Pss"]),
    "include empty": spec_with(includes=[""]),
    "include newline": spec_with(includes=["a\n"]),
    "include too long": spec_with(includes=["a" * 254]),
    "too many includes": spec_with(includes=[f"p{index}" for index in range(33)]),
    "relaxed without version": spec_with(relaxations=[{"privileges": ["a"]}]),
    "relaxed without privileges": spec_with(relaxations=[{"minimumVersion": "1.35"}]),
    "relaxed unknown field": _relaxed(maximumVersion="1.36"),
    "relaxed bad version": _relaxed(minimumVersion="new"),
    "relaxed version newline": _relaxed(minimumVersion="1.36\n"),
    "relaxed version without minor": _relaxed(minimumVersion="1"),
    "relaxed version spaced": _relaxed(minimumVersion=" 1.36"),
    "relaxed version other digits": _relaxed(minimumVersion="1.3٦"),
    "relaxed bad pattern": _relaxed(privileges=["a/**/b"]),
    "relaxed too many patterns": _relaxed(privileges=["a"] * 33),
    "too many relaxations": spec_with(relaxations=_relaxed()["relaxations"] * 17),
}


async def _server_accepts(client: Client, item: dict[str, Any]) -> bool:
    path = "/apis/sallyport.dev/v1alpha1/containerprofiles"
    parameters = {"dryRun": "All", "fieldValidation": "Strict"}
    status, answer = await client.request("POST", path, item, parameters=parameters)
    assert status in {201, 400, 422}, answer
    return status == 201


def _python_accepts(item: dict[str, Any]) -> bool:
    try:
        parse_profile(json.dumps(item).encode())
    except InvalidObjectError:
        return False
    return True


def _item(spec: Any) -> dict[str, Any]:
    return {**profile("agreement"), "spec": spec}


@pytest.mark.parametrize("case", ACCEPTED)
async def test_server_and_types_accept_the_same_object(
    case: str, client: Client, crds: None
) -> None:
    """What is right is accepted by both."""
    item = _item(ACCEPTED[case])
    assert _python_accepts(item)
    assert await _server_accepts(client, item)


@pytest.mark.parametrize("case", REFUSED)
async def test_server_and_types_refuse_the_same_object(
    case: str, client: Client, crds: None
) -> None:
    """What is wrong is refused by both."""
    item = _item(REFUSED[case])
    assert not _python_accepts(item)
    assert not await _server_accepts(client, item)


async def test_a_field_beside_spec_is_refused_by_both(client: Client, crds: None) -> None:
    """A misplaced field is found at the top level too."""
    item = {**_item(GOOD), "rank": 1}
    assert not _python_accepts(item)
    assert not await _server_accepts(client, item)


_segments = st.text("aZ9._:-%2F/*~ ", max_size=6)
_patterns = st.lists(_segments, max_size=4).map("/".join)
_versions = st.text("v019.+-x", max_size=7)
_specs = st.fixed_dictionaries(
    {
        "rank": st.integers(-2, 1002),
        "catalogue": st.integers(0, 2) | st.just(1),
        "privileges": st.lists(_patterns | st.just("host/network"), max_size=3),
    },
    optional={
        "description": st.text(max_size=4),
        "includes": st.lists(st.text("ab-.A", min_size=1, max_size=4), max_size=2),
        "relaxations": st.lists(
            st.fixed_dictionaries(
                {
                    "minimumVersion": _versions | st.just("1.35"),
                    "privileges": st.lists(_patterns, max_size=2),
                }
            ),
            max_size=1,
        ),
        "defaults": st.fixed_dictionaries(
            {},
            optional={
                "seccompProfile": st.none() | st.just({"type": "RuntimeDefault"}),
                "capabilities": st.fixed_dictionaries(
                    {"drop": st.lists(st.text("AN_1a", max_size=4), max_size=2)}
                ),
                "allowPrivilegeEscalation": st.none() | st.booleans(),
                "env": st.lists(
                    st.fixed_dictionaries(
                        {"name": st.sampled_from(["A", "A_VISIBLE_DEVICES", "NVIDIA_GDS", ""])},
                        optional={"value": st.sampled_from(["", "void", "all"])},
                    ),
                    max_size=2,
                ),
            },
        ),
    },
)


def _generated() -> list[Spec]:
    found: list[Spec] = []

    @seed(1)
    @settings(
        max_examples=400,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(_specs)
    def collect(spec: Spec) -> None:
        found.append(spec)

    collect()
    return found


def _single_patterns() -> Iterator[Spec]:
    """One random pattern at a time, so that its own verdict is what is compared."""
    rng = random.Random(7)  # noqa: S311 -- must repeat, need not be secret
    parts = ["a", "B9", ".", "..", "...", "*", "**", "%2F", "%2f", "a*", "", "a.b:c_d-", " "]
    for _ in range(150):
        yield _pattern("/".join(rng.choices(parts, k=rng.randint(1, 4))))


async def test_both_agree_on_generated_profiles(client: Client, crds: None) -> None:
    """Whatever is generated, the server and Python say the same of it."""
    verdicts = []
    for spec in [*_generated(), *_single_patterns()]:
        item = _item(spec)
        ours = _python_accepts(item)
        assert await _server_accepts(client, item) is ours, spec
        verdicts.append(ours)
    assert 30 < sum(verdicts) < len(verdicts) - 30, "the profiles are too alike"
