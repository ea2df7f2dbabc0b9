"""Which RuntimeClass a Pod must have, and what speaks against it."""

import itertools
import re
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sandbox.decision import Feature, RuntimeClass, SandboxMode
from sandbox.compatibility import CANNOT, GVISOR, KATA
from sandbox.runtime_choice import (
    Obstacle,
    RuntimeChoice,
    SandboxSettings,
    choose_runtime,
    is_sandbox_required,
)

GVISOR_CLASS: Final = RuntimeClass("gvisor", "runsc")
KATA_CLASS: Final = RuntimeClass("kata-vm-isolation", "kata")
BOTH: Final = SandboxSettings(("gvisor", "kata-vm-isolation"))
ALL: Final = {"gvisor": GVISOR_CLASS, "kata-vm-isolation": KATA_CLASS}
NETWORK: Final = Feature("host-network", "spec.hostNetwork")
BLOCK: Final = Feature("block-volume", "spec.containers[0].volumeDevices", "main")
GPU: Final = Feature("gpu", "spec.containers[0].resources.limits[nvidia.com/gpu]", "main")


def troubles(choice: RuntimeChoice) -> list[tuple[Obstacle, str]]:
    """Return what is against each runtime."""
    return [(each.trouble, each.runtime) for each in choice.refusals]


@pytest.mark.parametrize(
    ("mode", "asked", "score", "expected"),
    [
        (SandboxMode.NEVER, False, 1000, False),
        (SandboxMode.NEVER, True, 0, True),
        (SandboxMode.BY_RISK, False, 49, False),
        (SandboxMode.BY_RISK, False, 50, True),
        (SandboxMode.BY_RISK, True, 0, True),
        (SandboxMode.REQUIRED, False, 0, True),
    ],
)
def test_when_a_sandbox_is_demanded(
    mode: SandboxMode, *, asked: bool, score: int, expected: bool
) -> None:
    """Always where required or asked for; by risk from the threshold on; else never."""
    assert is_sandbox_required(mode, asked=asked, score=score, threshold=50) is expected


def test_the_first_that_can_is_taken() -> None:
    """The second only for what the first cannot run, or where the first is not there."""
    assert choose_runtime(BOTH, None, (), ALL) == RuntimeChoice("gvisor")
    assert choose_runtime(BOTH, None, (BLOCK,), ALL) == RuntimeChoice("kata-vm-isolation")
    assert choose_runtime(BOTH, None, (), ALL | {"gvisor": None}) == RuntimeChoice(
        "kata-vm-isolation"
    )


def test_what_none_can_run_is_refused_with_the_feature() -> None:
    """Said of the first that there is; a class that is missing cannot be mended by the author."""
    assert troubles(choose_runtime(BOTH, None, (NETWORK,), ALL)) == [
        (Obstacle.INCOMPATIBLE, "gvisor")
    ]
    only = ALL | {"gvisor": None}
    found = choose_runtime(BOTH, None, (NETWORK, BLOCK), only)
    assert [(each.runtime, each.feature) for each in found.refusals] == [
        ("kata-vm-isolation", NETWORK)
    ]


def test_a_class_that_is_missing_or_no_sandbox() -> None:
    """Both are said, each by its name."""
    classes = {"gvisor": RuntimeClass("gvisor", "runc"), "kata-vm-isolation": None}
    assert troubles(choose_runtime(BOTH, None, (), classes)) == [
        (Obstacle.NO_SANDBOX, "gvisor"),
        (Obstacle.ABSENT, "kata-vm-isolation"),
    ]
    assert troubles(choose_runtime(BOTH, None, (), {})) == [
        (Obstacle.ABSENT, "gvisor"),
        (Obstacle.ABSENT, "kata-vm-isolation"),
    ]


def test_an_authors_class_is_kept_or_refused_never_exchanged() -> None:
    """One of the site's is as good as the first; every other is refused, with the same handler."""
    assert choose_runtime(BOTH, "kata-vm-isolation", (), ALL) == RuntimeChoice("kata-vm-isolation")
    more = ALL | {"also-runsc": RuntimeClass("also-runsc", "runsc")}
    assert troubles(choose_runtime(BOTH, "also-runsc", (), more)) == [
        (Obstacle.OTHER, "also-runsc")
    ]
    assert troubles(choose_runtime(BOTH, "", (), ALL)) == [(Obstacle.EMPTY, "")]


def test_all_that_is_against_it_is_said_at_once() -> None:
    """Who names a wrong class is told which one it would get, and what that one cannot run."""
    second = choose_runtime(BOTH, "other", (BLOCK,), ALL)
    assert (second.runtime, troubles(second)) == ("kata-vm-isolation", [(Obstacle.OTHER, "other")])
    none = choose_runtime(BOTH, "", (NETWORK,), ALL)
    assert troubles(none) == [(Obstacle.EMPTY, ""), (Obstacle.INCOMPATIBLE, "gvisor")]
    assert troubles(choose_runtime(BOTH, "gvisor", (BLOCK,), ALL)) == [
        (Obstacle.INCOMPATIBLE, "gvisor")
    ]


@pytest.mark.parametrize(
    ("label", "selector", "runs"),
    [
        ("", {"driver": "580"}, False),
        ("driver=580", {}, False),
        ("driver=580", {"driver": "470"}, False),
        ("driver=580", {"driver": "580", "pool": "x"}, True),
    ],
)
def test_a_gpu_where_the_class_holds_it_to_nodes_that_can(
    label: str, selector: dict[str, str], *, runs: bool
) -> None:
    """The operator names the label, and the class selects it: neither alone is enough."""
    site = SandboxSettings(gpu_label=label)
    classes = {"gvisor": RuntimeClass("gvisor", "runsc", selector)}
    assert (not choose_runtime(site, None, (GPU,), classes).refusals) is runs
    kata = SandboxSettings(("kata-vm-isolation",), gpu_label=label)
    found = {"kata-vm-isolation": RuntimeClass("kata-vm-isolation", "kata", selector)}
    assert choose_runtime(kata, None, (GPU,), found).refusals


_features = st.lists(
    st.sampled_from(sorted({*CANNOT[GVISOR], *CANNOT[KATA], "other"})).map(
        lambda name: Feature(name, "spec")
    )
)


@given(
    _features,
    _features,
    st.sampled_from([None, "", "gvisor", "kata-vm-isolation", "other"]),
    st.fixed_dictionaries(
        {
            name: st.sampled_from([None, GVISOR_CLASS, KATA_CLASS, RuntimeClass("x", "runc")])
            for name in ("gvisor", "kata-vm-isolation")
        }
    ),
)
def test_more_features_never_help(
    features: list[Feature],
    more: list[Feature],
    named: str | None,
    classes: dict[str, RuntimeClass | None],
) -> None:
    """What is refused stays refused; what is taken again with its own class stays the same."""
    before = choose_runtime(BOTH, named, features, classes)
    after = choose_runtime(BOTH, named, features + more, classes)
    assert not before.refusals or after.refusals
    if not before.refusals:
        assert choose_runtime(BOTH, before.runtime, features, classes) == before


def test_every_limit_says_why_what_instead_and_where_it_is_written() -> None:
    """Of both sandboxes; sources are addresses."""
    for limit in itertools.chain.from_iterable(table.values() for table in CANNOT.values()):
        assert limit.why
        assert limit.instead
        assert not limit.instead.endswith(".")
        assert limit.source.startswith("https://")


def test_the_table_knows_every_feature_of_the_rego() -> None:
    """A feature that no table names would be taken for one that every sandbox can run."""
    rego = Path(__file__).parents[3] / "policies" / "rego" / "features" / "features.rego"
    names = re.compile(r'(?:"name": |:= |of\(container, )"([a-z-]+)"')
    said = set(names.findall(rego.read_text()))
    assert said == set(CANNOT[GVISOR])
    assert set(CANNOT[KATA]) == said - {"block-volume", "hugepages", "raw-network", "sysctl"}
