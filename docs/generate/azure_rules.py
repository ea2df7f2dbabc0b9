"""Makes helm/sallyport/monitoring/azure-rules.json: the alerts for Azure's managed Prometheus.

python -m docs.generate.azure_rules [--check]

Azure's managed Prometheus reads no PrometheusRule: its rules are resources of Azure Resource Manager,
so the alerts of monitoring/alerts.yaml become a template of them. With `--check` nothing is written,
and the exit code is 1 if the file is stale.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

import yaml

_FOLDER: Final = Path(__file__).resolve().parents[2] / "helm" / "sallyport" / "monitoring"
FILE: Final = _FOLDER / "azure-rules.json"

_SCHEMA: Final = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
_TYPE: Final = "Microsoft.AlertsManagement/prometheusRuleGroups"
_API: Final = "2023-03-01"
_MOST_RULES: Final = 20
"""Of one group (Azure Monitor service limits, "Prometheus alert rules and recording rules")."""

_SEVERITY: Final = {"critical": 0, "warning": 2}
"""As Azure counts: 0 is critical, 4 verbose."""

_PARAMETERS: Final[dict[str, tuple[str, str, Any]]] = {
    "workspace": ("string", "Resource id of the Azure Monitor workspace.", None),
    "cluster": ("string", "Resource id of the AKS cluster: only its series count.", None),
    "location": ("string", "Region of the workspace.", "[resourceGroup().location]"),
    "actions": ("array", "Who is told: objects with the actionGroupId of an action group.", []),
    "documentation": ("string", "Where docs/operate/alerts.md is read, up to docs/.", ""),
}


def main() -> int:
    """Write the file, or check it. Gives the exit code."""
    wanted = json.dumps(_template(), indent=2, ensure_ascii=False) + "\n"
    if "--check" not in sys.argv[1:]:
        FILE.write_text(wanted)
    elif not FILE.exists() or FILE.read_text() != wanted:
        print(f"{FILE} is stale; run: python -m docs.generate.azure_rules", file=sys.stderr)
        return 1
    return 0


def _template() -> dict[str, Any]:
    """Return the template, with a resource for each group of rules and not too many in one."""
    groups = yaml.safe_load((_FOLDER / "alerts.yaml").read_text())["groups"]
    parameters = {
        name: {
            "type": kind,
            "metadata": {"description": description},
            **({} if default is None else {"defaultValue": default}),
        }
        for name, (kind, description, default) in _PARAMETERS.items()
    }
    return {
        "$schema": _SCHEMA,
        "contentVersion": "1.0.0.0",
        "parameters": parameters,
        "resources": [resource for group in groups for resource in _resources(group)],
    }


def _resources(group: dict[str, Any]) -> list[dict[str, Any]]:
    rules = [_rule(rule) for rule in group["rules"]]
    parts = [rules[at : at + _MOST_RULES] for at in range(0, len(rules), _MOST_RULES)]
    return [
        {
            "type": _TYPE,
            "apiVersion": _API,
            "name": group["name"] if len(parts) == 1 else f"{group['name']}-{number}",
            "location": "[parameters('location')]",
            "properties": {
                "description": "Alerts of Sallyport: docs/operate/alerts.md.",
                "scopes": ["[parameters('workspace')]", "[parameters('cluster')]"],
                "enabled": True,
                "interval": "PT1M",
                "rules": part,
            },
        }
        for number, part in enumerate(parts, 1)
    ]


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    """Return an alert in Azure's words."""
    name = rule["alert"]
    page = f"[concat(parameters('documentation'), 'docs/operate/alerts.md#{name.lower()}')]"
    return {
        "alert": name,
        "enabled": True,
        "severity": _SEVERITY[rule["labels"]["severity"]],
        "expression": _literal(rule["expr"].strip()),
        **({"for": _duration(rule["for"])} if "for" in rule else {}),
        "labels": {key: _literal(value) for key, value in rule["labels"].items()},
        "annotations": {
            **{key: _literal(value) for key, value in rule["annotations"].items()},
            "runbook_url": page,
        },
        "actions": "[parameters('actions')]",
        "resolveConfiguration": {"autoResolved": True, "timeToResolve": "PT10M"},
    }


def _duration(text: str) -> str:
    """Return a duration of Prometheus as ISO 8601 has it."""
    number, unit = re.fullmatch(r"(\d+)([mhd])", text).groups()  # type: ignore[union-attr]
    return f"P{number}D" if unit == "d" else f"PT{number}{unit.upper()}"


def _literal(text: str) -> str:
    """Return a text that the resource manager takes for no expression of its own."""
    return f"[{text}" if text.startswith("[") else text


if __name__ == "__main__":
    sys.exit(main())
