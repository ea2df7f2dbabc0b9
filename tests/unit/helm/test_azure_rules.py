"""The alerts as Azure's managed Prometheus takes them: the same, each once.

https://learn.microsoft.com/azure/azure-monitor/essentials/prometheus-rule-groups
"""

import json
import re
from typing import Any, Final

import yaml

from tests.harness.programs.helm import CHART

FOLDER: Final = CHART / "monitoring"
TEMPLATE: Final = json.loads((FOLDER / "azure-rules.json").read_text())
ALERTS: Final[dict[str, Any]] = {
    rule["alert"]: rule
    for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
}
SECONDS: Final = {"m": 60, "h": 3600, "d": 86400}


def rules() -> list[dict[str, Any]]:
    """Return the rules of all groups."""
    return [rule for item in TEMPLATE["resources"] for rule in item["properties"]["rules"]]


def seconds(text: str) -> int:
    """Return how long a duration of Prometheus or of ISO 8601 is."""
    number, unit = re.findall(r"(\d+)([a-z])", text.lower())[0]
    return int(number) * SECONDS[unit]


def test_each_alert_is_there_once_as_it_is() -> None:
    """Expression, wait, labels and words; what is critical is critical to Azure."""
    assert [rule["alert"] for rule in rules()] == list(ALERTS)
    for rule in rules():
        alert = ALERTS[rule["alert"]]
        assert rule["expression"] == alert["expr"].strip()
        assert ("for" in rule) is ("for" in alert)
        if "for" in rule:
            assert re.fullmatch(r"P(T\d+[MH]|\d+D)", rule["for"])
            assert seconds(rule["for"]) == seconds(alert["for"])
        assert rule["labels"] == alert["labels"]
        assert rule["severity"] == {"critical": 0, "warning": 2}[alert["labels"]["severity"]]
        assert rule["annotations"].items() > alert["annotations"].items()
        assert (
            f"docs/operate/alerts.md#{rule['alert'].lower()}'"
            in (rule["annotations"]["runbook_url"])
        )


def test_groups_are_as_azure_takes_them() -> None:
    """No more than 20 rules in one, each name once, and the workspace among the scopes."""
    names = [item["name"] for item in TEMPLATE["resources"]]
    assert len(names) == len(set(names)) > 5
    for item in TEMPLATE["resources"]:
        assert item["type"] == "Microsoft.AlertsManagement/prometheusRuleGroups"
        assert 1 <= len(item["properties"]["rules"]) <= 20
        assert "[parameters('workspace')]" in item["properties"]["scopes"]
        assert item["properties"]["interval"] == "PT1M"


def test_parameters_are_declared_and_used() -> None:
    """Azure refuses a template that reads another, and one without a use asks for nothing."""
    used = set(re.findall(r"parameters\('(\w+)'\)", json.dumps(TEMPLATE["resources"])))
    assert used == TEMPLATE["parameters"].keys()
    needed = {name for name, one in TEMPLATE["parameters"].items() if "defaultValue" not in one}
    assert needed == {"workspace", "cluster"}
