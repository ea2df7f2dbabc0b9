"""The alerts: they parse, fire on what they are for and on nothing else, and each has a page."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness.evidence import ROOT
from tests.harness.programs.availability import require
from tests.harness.programs.helm import CHART, Helm, named
from tests.unit.helm.alert_cases import ALSO, AT, FIRES, HEALTHY, Changes
from tests.unit.helm.series import KNOWN, metrics_in

FILE = CHART / "monitoring" / "alerts.yaml"
RULES = [rule for group in yaml.safe_load(FILE.read_text())["groups"] for rule in group["rules"]]
ALERTS = [rule["alert"] for rule in RULES]
PAGE = ROOT / "docs" / "operate" / "alerts.md"


def promtool(folder: Path, *arguments: str | Path) -> str:
    """Run promtool; give what it says, and fail the test where it does."""
    done = subprocess.run(
        [require("promtool"), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def group(changes: Changes, alert: str | None, *, fires: bool = True) -> dict[str, Any]:
    """Return a test of promtool's: the series, and whether an alert (None: any) is to be firing."""
    series = {**HEALTHY, **changes}
    selected = f'{{alertname="{alert}",alertstate="firing"}}' if alert else ""
    return {
        "interval": "1m",
        "name": f"{alert or 'healthy'}: {changes}",
        "input_series": [
            {"series": name, "values": values}
            for name, values in series.items()
            if values is not None
        ],
        "promql_expr_test": [
            {
                "expr": f"count(ALERTS{selected}) > bool 0",
                "eval_time": AT,
                "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
            }
        ],
    }


def test_each_fires_on_what_it_is_for_and_none_on_what_is_healthy(tmp_path: Path) -> None:
    """Real Prometheus rules on made series: healthy hours, and one change for each alert."""
    assert list(FIRES) == ALERTS
    tests = [
        group({}, None, fires=False),
        *(group(changes, alert) for alert, changes in FIRES.items()),
        *(group(changes, alert, fires=fires) for alert, changes, fires in ALSO),
    ]
    content = {"rule_files": [str(FILE)], "evaluation_interval": "5m", "tests": tests}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(content))
    promtool(tmp_path, "test", "rules", "tests.yaml")


def test_an_alert_that_does_not_fire_is_found(tmp_path: Path) -> None:
    """The test above is not vacuous."""
    tests = [group({}, "SallyportSpoolFull")]
    content = {"rule_files": [str(FILE)], "evaluation_interval": "5m", "tests": tests}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(AssertionError, match="SallyportSpoolFull"):
        promtool(tmp_path, "test", "rules", "tests.yaml")


@pytest.mark.parametrize("rule", RULES, ids=ALERTS)
def test_each_names_metrics_that_exist_and_says_who_is_woken(rule: dict[str, Any]) -> None:
    """An alert on a name that nothing has can never fire."""
    found = metrics_in(rule["expr"])
    assert found
    assert found <= KNOWN
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["annotations"]["summary"].endswith((".", "?"))


@pytest.mark.parametrize("alert", ALERTS)
def test_each_has_a_section_that_says_what_to_do(alert: str) -> None:
    """What it means, what users see, and what to do; under the name that its link has."""
    sections = PAGE.read_text().split("\n## ")
    (section,) = [each for each in sections if each.startswith(f"{alert}\n")]
    for word in ("**Means**", "**Users see**", "**Do**"):
        assert section.count(word) == 1


def test_the_page_has_no_alert_that_is_gone() -> None:
    """And its sections have the order of the rules."""
    assert re.findall(r"^## (Sallyport\w+)$", PAGE.read_text(), re.MULTILINE) == ALERTS


def test_the_chart_links_each_alert_to_its_section(helm: Helm, tmp_path: Path) -> None:
    """The rules of the object are those of the file, and Prometheus takes them."""
    base = "https://docs.example/sallyport/"
    values = {"monitoring": {"rules": {"enabled": True, "documentation": base}}}
    rules = named(helm.objects(values), "PrometheusRule", "sallyport")["spec"]["groups"]
    links = {r["alert"]: r["annotations"].pop("runbook_url") for g in rules for r in g["rules"]}
    assert links == {alert: f"{base}docs/operate/alerts.md#{alert.lower()}" for alert in ALERTS}
    assert {"groups": rules} == yaml.safe_load(FILE.read_text())
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": rules}))
    promtool(tmp_path, "check", "rules", "rules.yaml")
