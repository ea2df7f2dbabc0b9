"""What rules cost: how growth and shares are told, and that each rule is measured."""

from pathlib import Path

import pytest

from policies.authoring.benchmark import BenchmarkSample, growth, measure, samples_of
from policies.authoring.workspace import open_workspace
from tests.tools.provide import provide
from tests.unit.policies.authoring.conftest import rego, write

ENTRY = 'deny contains {"path": "p", "value": "v"} if {\n'
QUADRATIC = (
    ENTRY
    + "\tsome first in input.projection.containers\n"
    + "\tsome second in input.projection.containers\n"
    + "\tconcat(first.name, [second.name, first.name]) == input.kind\n}\n"
)


def document(containers: int) -> bytes:
    """Return an input of `judge` with so many containers."""
    listed = ",".join(f'{{"path":"p","name":"c{number}"}}' for number in range(containers))
    return (
        b'{"kind":"Pod","fields":{},"context":{},"needs":[],"projection":{"containers":[%b]}}'
        % (listed.encode())
    )


def test_growth_tells_linear_from_quadratic() -> None:
    """Whatever a rule takes for one container, and also where one takes no time at all."""
    assert growth(105.0, 150.0, 600.0) == pytest.approx(10.0)
    assert growth(101.0, 200.0, 10_100.0) == pytest.approx(100.0)
    assert growth(0.0, 0.0, 5.0) == pytest.approx(5.0)


def test_each_rule_is_measured_on_the_inputs_of_its_kind(tmp_path: Path) -> None:
    """What walks over the containers in each other is told of; the shares are those of all."""
    cheap = rego("x.cheap", ENTRY + '\tinput.kind == "x"\n}\n')
    files = {
        "quadratic.rego": rego("x.quadratic", QUADRATIC),
        "cheap.rego": cheap,
        "other.rego": cheap.replace("kinds: [Pod]", "kinds: [Service]").replace("cheap", "other"),
    }
    site = write(tmp_path / "acme", files)
    samples = [BenchmarkSample("Pod", document(20))]
    samples += [BenchmarkSample("Pod", document(size), size) for size in (1, 10, 100)]
    told: list[str] = []
    with open_workspace(provide("opa"), [site]) as workspace:
        costs = {it.rule: it for it in measure(workspace, samples, 3, 90.0, told.append)}
    assert next(iter(costs)) == "rules/x/quadratic"
    quadratic, other = costs["rules/x/quadratic"], costs["rules/x/other"]
    assert quadratic.p50_us > 0
    assert quadratic.by_containers.keys() == {"1", "10", "100"}
    assert any(each.startswith("grows faster than the Pod") for each in quadratic.too_much)
    assert (other.inputs, other.p50_us, other.by_containers) == (0, 0.0, {})
    assert other.notes == [
        "nothing is known: no case has an object of a kind that it is asked about"
    ]
    assert not costs["rules/x/cheap"].notes
    assert sum(it.share for it in costs.values()) == pytest.approx(100, abs=0.2)
    assert len(told) == 3


def test_what_cannot_be_judged_is_told(tmp_path: Path) -> None:
    """Of a rule that takes all memory for a Pod of many containers."""
    greedy = QUADRATIC.replace("\tconcat", "\tsome third in input.projection.containers\n\tconcat")
    greedy = greedy.replace("second.name, first", "second.name, third")
    site = write(tmp_path / "acme", {"greedy.rego": rego("x.greedy", greedy)})
    samples = [BenchmarkSample("Pod", document(1)), BenchmarkSample("Pod", document(100), 100)]
    with open_workspace(provide("opa"), [site]) as workspace:
        cost = measure(workspace, samples, 3, 90.0, lambda _: None)[0]
    assert (cost.inputs, cost.by_containers) == (1, {})
    (told,) = cost.too_much
    assert told.startswith("a Pod of 100 containers cannot be judged: it exceeded its memory limit")


def test_samples_know_their_kind() -> None:
    """And whether they tell growth."""
    made = samples_of({"a": [document(1)], "10 containers": [document(10)]}, {"10 containers": 10})
    assert [(it.kind, it.containers) for it in made] == [("Pod", 0), ("Pod", 10)]
