"""`sallyport review` names the RuntimeClass, and says in words why."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from app.settings.root import Settings, read_settings
from app.settings.sandbox import SandboxSection
from app.wiring import make_engine, make_judge
from core.base.errors import SettingsError
from kube.cluster.folder import FolderCluster
from policies import SHIPPED_PROFILES
from tests.unit.admission.sandbox.sandbox_cluster import pod

FOLDER = [
    {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "train", "labels": {"sallyport.dev/sandbox": "required"}},
    },
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "gvisor"},
        "handler": "runsc",
    },
]


@pytest.mark.parametrize("form", ["json", "table"])
def test_review_says_the_sandbox_and_why(tmp_path: Path, form: str) -> None:
    """In JSON the name; in the table a line with the reason."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    (folder / "all.yaml").write_text(yaml.safe_dump_all(FOLDER))
    file = tmp_path / "pod.yaml"
    file.write_text(yaml.safe_dump(pod()))
    command = [str(Path(sys.executable).with_name("sallyport")), "review"]
    flags = ["--profile", "pss-privileged", "--cluster", str(folder), "-o", form, str(file)]
    done = subprocess.run([*command, *flags], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if form == "json":
        assert [each["sandbox"] for each in json.loads(done.stdout)] == ["gvisor"]
    else:
        assert "RuntimeClass gvisor: the namespace train requires a sandbox" in done.stdout


def test_points_of_a_rule_that_there_is_not_are_an_error() -> None:
    """A misspelt rule would leave the points of the right one as they are, without a word."""
    cluster = FolderCluster(SHIPPED_PROFILES)
    options = read_settings(None, {})

    def points(rule: str) -> Settings:
        return options.model_copy(update={"sandbox": SandboxSection(points={rule: 0})})

    with closing(make_engine(None, options.evaluation)) as engine:
        for rule in ("sandbox/code/notebook", "privileges/host/pid"):
            make_judge(cluster, engine, points(rule))
        with pytest.raises(SettingsError, match=r"sandbox\.points: .* sandbox/code/notebok"):
            make_judge(cluster, engine, points("sandbox/code/notebok"))
