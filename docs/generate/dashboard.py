"""Makes the dashboard of Grafana, helm/sallyport/monitoring/dashboard.json, from a table of panels.

python -m docs.generate.dashboard [--check]

With `--check` nothing is written, and the exit code is 1 if the file is stale.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

FILE: Final = (
    Path(__file__).resolve().parents[2] / "helm" / "sallyport" / "monitoring" / "dashboard.json"
)

_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
_WIDTH: Final = 8
_HEIGHT: Final = 7
_ROW: Final = 24
"""Columns of a dashboard, as Grafana counts them."""

PANELS: Final = (
    # Title, unit, then legend and query of each line.
    ("Gates that can judge", "short", (("ready", "sum(sallyport_ready)"),)),
    (
        "Reviews a second, by verdict",
        "reqps",
        (("{{verdict}}", "sum by (verdict) (rate(sallyport_admissions_total[5m]))"),),
    ),
    (
        "Time of an answer",
        "s",
        tuple(
            (
                f"{name} {{{{webhook}}}}",
                f"histogram_quantile({share}, sum by (le, webhook) "
                "(rate(sallyport_admission_duration_seconds_bucket[5m])))",
            )
            for name, share in (("half", 0.5), ("99 in 100", 0.99))
        ),
    ),
    (
        "Findings a minute, the ten most frequent rules",
        "short",
        (("{{rule}}", "topk(10, sum by (rule) (60 * rate(sallyport_findings_total[15m])))"),),
    ),
    (
        "Not judged, turned away, cut off",
        "short",
        (
            ("not judged: {{kind}}", "sum by (kind) (rate(sallyport_errors_total[5m]))"),
            ("{{status}}", "sum by (status) (rate(sallyport_rejected_bodies_total[5m]))"),
            ("cut off", "sum(rate(sallyport_dropped_connections_total[5m]))"),
        ),
    ),
    (
        "kube-apiserver did not reach",
        "short",
        (
            (
                "{{name}}",
                "sum by (name) (rate(apiserver_admission_webhook_rejection_count"
                '{name=~".+[.]sallyport[.]dev",error_type="calling_webhook_error"}[5m]))',
            ),
        ),
    ),
    (
        "Remembered answers",
        "percentunit",
        (
            (
                "policies",
                'sum(rate(sallyport_evaluations_total{result="remembered"}[5m]))'
                " / sum(rate(sallyport_evaluations_total[5m]))",
            ),
            (
                "access reviews",
                'sum(rate(sallyport_access_reviews_total{result="hit"}[5m]))'
                " / sum(rate(sallyport_access_reviews_total[5m]))",
            ),
        ),
    ),
    (
        "CPU and memory of each process",
        "short",
        (
            ("CPU {{instance}}", 'rate(process_cpu_seconds_total{job=~".*sallyport.*"}[5m])'),
            ("GiB {{instance}}", 'process_resident_memory_bytes{job=~".*sallyport.*"} / 2^30'),
        ),
    ),
    (
        "Certificates: days left",
        "d",
        (
            (
                "served by {{instance}}",
                "(sallyport_certificate_not_after_seconds - time()) / 86400",
            ),
            (
                "{{certificate}}",
                "max by (certificate) (sallyport_certificate_seconds_left) / 86400",
            ),
        ),
    ),
    (
        "What kube-apiserver refuses by Sallyport's policies, and fails to evaluate",
        "short",
        (
            (
                "refused: {{policy}}",
                "sum by (policy) (rate(apiserver_validating_admission_policy_check_total"
                '{policy=~".+[.]sallyport[.]dev",enforcement_action="deny"}[5m]))',
            ),
            (
                "not evaluated: {{policy}}",
                "sum by (policy) (rate(apiserver_validating_admission_policy_check_total"
                '{policy=~".+[.]sallyport[.]dev",enforcement_action="allow"}[5m]))',
            ),
        ),
    ),
    (
        "Policy bundles: refused, not taken, not followed",
        "short",
        (
            ("refused by {{instance}}", "sallyport_bundle_refused"),
            ("not taken from the registry", "max(sallyport_bundle_source_problem)"),
            (
                "followed anew by {{instance}}",
                "increase(sallyport_bundle_following_restarts_total[15m])",
            ),
        ),
    ),
    (
        "Profiles in the back-stop",
        "short",
        (
            ("that cover something it holds", "max(sallyport_backstop_profiles)"),
            ("that count as covering everything", "max(sallyport_backstop_vague_profiles)"),
        ),
    ),
    (
        "Age of what waits for the auditor",
        "s",
        (("{{instance}}", "sallyport_spool_oldest_seconds"),),
    ),
    (
        "Spools: how full",
        "percentunit",
        (("{{instance}}", "sallyport_spool_bytes / sallyport_spool_max_bytes"),),
    ),
    (
        "Ledger: entries that are not signed, not anchored",
        "short",
        (
            ("not signed", "sallyport_ledger_records - sallyport_ledger_signed_records"),
            (
                "not anchored: {{anchor}}",
                "sallyport_ledger_records - on (instance) group_right ()"
                " sallyport_ledger_anchored_records",
            ),
        ),
    ),
    (
        "Loops of control: failures",
        "short",
        (("{{loop}}", "sum by (loop) (increase(sallyport_loop_errors_total[15m]))"),),
    ),
    (
        "What runs, by the sweep's verdict",
        "short",
        (("{{verdict}}", "sum by (verdict) (sallyport_sweep_objects)"),),
    ),
    (
        "Outside the sandbox, though they should not be",
        "short",
        (("Pods", "max(sallyport_sandbox_missing)"),),
    ),
    (
        "Allowlists by state",
        "short",
        (("{{state}}", "sum by (state) (sallyport_egress_allowlists)"),),
    ),
    (
        "Identities at risk",
        "short",
        (("{{level}}", "sum by (level) (sallyport_risk_identities)"),),
    ),
    (
        "Accesses to weights: findings a day, ungranted a day",
        "short",
        (
            (
                "{{detection}}",
                "sum by (detection) (increase(sallyport_weight_findings_total[1d]))",
            ),
            ("ungranted", "sum(increase(sallyport_weight_ungranted_total[1d]))"),
        ),
    ),
)
"""What an operator looks at, the most urgent first."""


def main() -> int:
    """Write the file, or with --check say whether it is stale. Gives the exit code."""
    text = json.dumps(dashboard(), indent=1) + "\n"
    if "--check" in sys.argv:
        stale = not FILE.exists() or FILE.read_text() != text
        if stale:
            print(f"{FILE} is stale; run: python -m docs.generate.dashboard", file=sys.stderr)
        return int(stale)
    FILE.write_text(text)
    return 0


def dashboard() -> dict[str, Any]:
    """Return the dashboard, in the form that Grafana imports."""
    variable = {"name": "source", "label": "Prometheus", "type": "datasource"}
    return {
        "uid": "sallyport",
        "title": "Sallyport",
        "tags": ["sallyport"],
        "schemaVersion": 39,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [{**variable, "query": "prometheus"}]},
        "panels": [_panel(number, *panel) for number, panel in enumerate(PANELS)],
    }


def _panel(
    number: int, title: str, unit: str, lines: tuple[tuple[str, str], ...]
) -> dict[str, Any]:
    columns = _ROW // _WIDTH
    place = {"x": number % columns * _WIDTH, "y": number // columns * _HEIGHT}
    return {
        "id": number + 1,
        "title": title,
        "type": "timeseries",
        "datasource": _SOURCE,
        "gridPos": {**place, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": _SOURCE,
                "expr": query,
                "legendFormat": legend,
            }
            for index, (legend, query) in enumerate(lines)
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
