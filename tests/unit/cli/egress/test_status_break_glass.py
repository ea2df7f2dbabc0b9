"""`sallyport egress status` says by which BreakGlass a namespace is open, and until when."""

import json
import shutil
import time
from pathlib import Path
from typing import Any, Final

import yaml

from core.base.times import time_text
from tests.harness.worlds.rbac import grant, rule, user
from tests.unit.admission.approvals.test_break_glass import consent, sealed
from tests.unit.admission.approvals.test_exceptions import ANN, BEN
from tests.unit.cli.conftest import Run

CLUSTER: Final = Path(__file__).parents[4] / "examples" / "egress" / "cluster"
LATER: Final = "2031-01-01T00:00:00Z"


def _folder(path: Path, began: float, **spec: Any) -> Path:
    """Copy the example, with a BreakGlass that two people approved and somebody opened."""
    folder = path / "cluster"
    shutil.copytree(CLUSTER, folder)
    fields: dict[str, Any] = {"namespaces": ["research"], "egress": {}, **spec}
    glass = sealed(time_text(began), **fields)
    approvals = [consent(glass, who) for who in (ANN, BEN)]
    for each in approvals:
        each["spec"]["expiresAt"] = LATER
    right = rule(["sallyport.dev"], "approvaltiers", "approve", "break-glass")
    rights = grant("approvers", right, *(user(each.username) for each in (ANN, BEN)))
    text = yaml.safe_dump_all([glass, *approvals, *rights])
    (folder / "glass.yaml").write_text(text)
    return folder


def test_an_open_namespace_is_said_to_be_open(run: Run, tmp_path: Path) -> None:
    """In words, and in JSON; `explain` says the same."""
    began = time.time() - 60
    folder = _folder(tmp_path, began)
    reach = "everywhere but to reserved ranges"
    told = f"all Pods connect {reach}, by BreakGlass fire until {time_text(began + 3600)}"
    done = run("egress", "status", "research", "--cluster", folder)
    assert f"  {told}" in done.out.splitlines()
    done = run("egress", "status", "research", "--cluster", folder, "-o", "json")
    (research,) = json.loads(done.out)["namespaces"]
    assert research["opened"] == [told]
    done = run("egress", "explain", "research/train-0", "198.51.100.99:443", "--cluster", folder)
    assert done.code == 0
    assert f"the Pod connects {reach}" in done.out


def test_nothing_is_said_of_one_that_is_over(run: Run, tmp_path: Path) -> None:
    """Nor of another namespace."""
    folder = _folder(tmp_path, time.time() - 3601)
    done = run("egress", "status", "--cluster", folder)
    assert "BreakGlass" not in done.out
