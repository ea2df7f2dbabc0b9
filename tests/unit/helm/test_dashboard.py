"""The dashboard: fresh, every query parses, and every series that one names exists."""

import json
import subprocess
from pathlib import Path

import yaml

from docs.generate.dashboard import FILE, dashboard
from tests.harness.programs.availability import require
from tests.harness.programs.helm import Helm, named
from tests.unit.helm.series import KNOWN, metrics_in

QUERIES = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]


def test_the_file_is_what_is_made() -> None:
    """Nobody edits it by hand."""
    assert json.loads(FILE.read_text()) == dashboard()


def test_every_query_names_series_that_exist() -> None:
    """A panel on a name that nothing has stays empty, and looks like all is well."""
    for query in QUERIES:
        found = metrics_in(query)
        assert found, query
        assert found <= KNOWN, query


def test_every_query_parses(tmp_path: Path) -> None:
    """By Prometheus' own parser."""
    rules = [{"record": f"panel:{n}", "expr": query} for n, query in enumerate(QUERIES)]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    done = subprocess.run(
        [require("promtool"), "check", "rules", file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(QUERIES)} rules found" in done.stdout


def test_dashboard_has_the_label_of_grafanas_sidecar(helm: Helm) -> None:
    """In a ConfigMap with the label of its sidecar, whole."""
    found = named(
        helm.objects({"monitoring": {"dashboard": {"enabled": True}}}),
        "ConfigMap",
        "sallyport-dashboard",
    )
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(found["data"]["sallyport.json"]) == dashboard()
