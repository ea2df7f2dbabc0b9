"""The alerts: they parse, fire on what they are for and on nothing else, and each has a page."""

import re
import subprocess
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest
import yaml

from tests.harness.evidence import ROOT
from tests.harness.programs.availability import require
from tests.harness.programs.helm import CHART, Helm, named
from tests.unit.helm.series import KNOWN, metrics_in

G: Final = '{instance="g0",job="s"}'
C: Final = '{instance="c0",job="s"}'
A: Final = '{instance="a0",job="s"}'

UNKNOWN: Final = (
    'sallyport_findings_total{instance="g0",job="s",rule="field/unknown",action="warn"}'
)
ASKED: Final = 'sallyport_admissions_total{instance="g0",job="s",webhook="validate"'
NOTED: Final = 'sallyport_admissions_total{instance="g0",job="s",webhook="mutate"'
DENIED: Final = f'{ASKED},verdict="deny"}}'
WEBHOOK: Final = (
    'instance="c0",job="s",kind="ValidatingWebhookConfiguration",name="validate.sallyport.dev"'
)
LEFT: Final = (
    'sallyport_certificate_seconds_left{certificate="sallyport-gate-tls",instance="c0",job="s"}'
)
LIFE: Final = (
    'sallyport_certificate_lifetime_seconds{certificate="sallyport-gate-tls",instance="c0",job="s"}'
)
LOOKED: Final = (
    'sallyport_loop_last_success_timestamp_seconds{instance="c0",job="s",loop="backstop"}'
)

UNPROVED: Final = "sallyport_unproved_records_total"
CHECKING: Final = 'instance="a0",job="s",instances="check"'
REQUIRING: Final = 'instance="a0",job="s",instances="require"'

GIB: Final = 1024**3
LEDGER_SIZE: Final = f"sallyport_ledger_size_bytes{A}"
LEDGER_MAX: Final = f"sallyport_ledger_max_bytes{A}"
LEDGER_FREE: Final = f"sallyport_ledger_free_bytes{A}"
LEDGER_DAY: Final = 'sallyport_ledger_seconds_left{instance="a0",job="s",window="1d"}'
LEDGER_HOUR: Final = 'sallyport_ledger_seconds_left{instance="a0",job="s",window="1h"}'
SPOOL_TAKEN: Final = f"sallyport_spool_taken_bytes_total{G}"

_POLICY: Final = (
    "apiserver_validating_admission_policy_check_total"
    '{policy="backstop.sallyport.dev",enforcement_action='
)
REFUSED: Final = f'{_POLICY}"deny",error_type="invalid_error"}}'
"""What kube-apiserver counts of an ordinary denial: no error, for all its name."""
IGNORED: Final = f'{_POLICY}"allow",error_type="invalid_error"}}'

NOW: Final = "0+60x200"
"""A Unix time that is always now: promtool begins at 0, and looks each minute."""

HEALTHY: Final = MappingProxyType(
    {
        f"sallyport_ready{G}": "1x200",
        'sallyport_ready{instance="g1",job="s"}': "1x200",
        f'{ASKED},verdict="allow"}}': "0+600x200",
        f'{NOTED},verdict="allow"}}': "0+600x200",
        f"sallyport_gate_reached{C}": "1x200",
        f"sallyport_registration_healthy{{{WEBHOOK}}}": "1x200",
        f"sallyport_registration_changed_total{{{WEBHOOK}}}": "0x200",
        DENIED: "0+20x200",
        'sallyport_errors_total{instance="g0",job="s",kind="internal"}': "0x200",
        'sallyport_admission_duration_seconds_bucket{webhook="validate",le="0.01"}': "0+600x200",
        'sallyport_admission_duration_seconds_bucket{webhook="validate",le="5"}': "0+600x200",
        'sallyport_admission_duration_seconds_bucket{webhook="validate",le="+Inf"}': "0+600x200",
        'sallyport_rejected_bodies_total{instance="g0",job="s",status="503"}': "0x200",
        'sallyport_rejected_bodies_total{instance="g0",job="s",status="400"}': "0x200",
        'sallyport_dropped_connections_total{instance="g0",job="s",reason="slow"}': "0x200",
        # It stands still, half through its life.
        f"sallyport_certificate_not_after_seconds{G}": "3888000+60x200",
        LEFT: "3888000x200",
        LIFE: "7776000x200",
        'sallyport_certificate_troubles{instance="c0",job="s",mends="person"}': "0x200",
        'sallyport_certificate_troubles{instance="c0",job="s",mends="itself"}': "0x200",
        f"sallyport_certificate_clock_offset_seconds{C}": "-0.5x200",
        'sallyport_certificate_reloads_total{instance="g0",job="s",result="error"}': "0x200",
        'apiserver_admission_webhook_rejection_count{name="validate.sallyport.dev",'
        'error_type="calling_webhook_error"}': "0x200",
        UNKNOWN: "0x200",
        f"sallyport_bundle_refused{G}": "0x200",
        f"sallyport_bundle_pending_since_seconds{C}": "0x200",
        f"sallyport_bundle_source_problem{C}": "0x200",
        f"sallyport_bundle_following_restarts_total{G}": "0x200",
        REFUSED: "0+3x200",
        IGNORED: "0x200",
        f"sallyport_backstop_restored_total{C}": "0x200",
        LOOKED: NOW,
        f"sallyport_break_glass_open{C}": "0x200",
        f"sallyport_leader{C}": "1x200",
        'sallyport_leader{instance="c1",job="s"}': "0x200",
        'sallyport_loop_errors_total{instance="c0",job="s",loop="egress"}': "0x200",
        'sallyport_loop_last_success_timestamp_seconds{instance="c0",job="s",loop="egress"}': NOW,
        f"sallyport_sweep_last_finished_timestamp_seconds{C}": NOW,
        f"sallyport_sweep_interval_seconds{C}": "3600x200",
        'sallyport_crd_healthy{instance="c0",job="s",crd="approvals.sallyport.dev"}': "1x200",
        f"sallyport_sandbox_missing{C}": "0x200",
        'sallyport_sandbox_capacity_timestamp_seconds{runtime_class="gvisor"}': NOW,
        f"sallyport_egress_namespaces_failing{C}": "0x200",
        f"sallyport_egress_foreign_policies{C}": "0x200",
        f"sallyport_egress_names_taken{C}": "0x200",
        f"sallyport_egress_service_tags_healthy{C}": "1x200",
        f"sallyport_spool_full{G}": "0x200",
        f"sallyport_spool_oldest_seconds{G}": "1x200",
        f"sallyport_spool_max_bytes{G}": "1073741824x200",
        SPOOL_TAKEN: "0+600000x200",
        f"sallyport_spool_seconds_left{G}": "107374x200",
        'sallyport_unrecorded_decisions_total{instance="g0",job="s",outcome="refused"}': "0x200",
        f"sallyport_spool_damages_total{G}": "0x200",
        'sallyport_received_records_total{instance="a0",job="s",result="quarantined"}': "0x200",
        f"{UNPROVED}{{{CHECKING}}}": "0x200",
        # 20 of 42 GiB, 6 of which are refusals; 100 MiB a day.
        LEDGER_SIZE: f"{20 * GIB}+70000x200",
        LEDGER_MAX: f"{42 * GIB}x200",
        LEDGER_FREE: f"{28 * GIB}-70000x200",
        LEDGER_DAY: "24000000x200",
        LEDGER_HOUR: "2400000x200",
        f"sallyport_ledger_rows_outside{A}": "0x200",
        f"sallyport_ledger_records{A}": "0+600x200",
        f"sallyport_ledger_signed_records{A}": "0+600x200",
        f"sallyport_ledger_head_timestamp_seconds{A}": NOW,
        'sallyport_ledger_anchored_timestamp_seconds{instance="a0",job="s",anchor="file"}': NOW,
        'sallyport_ledger_anchor_failures_total{instance="a0",job="s",anchor="file"}': "0x200",
        f"sallyport_ledger_timestamp_failures_total{A}": "0x200",
        f"sallyport_ledger_timestamp_failing_seconds{A}": "0x200",
        f"sallyport_pod_gaps_total{C}": "0x200",
        'sallyport_notices_dead_total{instance="a0",job="s",sink="pager"}': "2x200",
        'sallyport_sink_failing_seconds{instance="a0",job="s",sink="pager"}': "0x200",
        'sallyport_risk_age_seconds{instance="g0",job="s",of="users"}': "8x200",
        'sallyport_risk_problem{instance="c0",job="s",of="users"}': "0x200",
        f"sallyport_risk_table_broken{C}": "0x200",
        'sallyport_weight_findings_total{detection="copy-out",severity="high"}': "3x200",
        'sallyport_weight_lag_seconds{instance="a0",job="s",source="logs"}': "900x200",
        'sallyport_weight_failures_total{instance="a0",job="s",detection="copy-out"}': "0x200",
    }
)
"""Nothing may be raised on these: three hours of them."""

Changes = dict[str, str | None]

FIRES: Final = MappingProxyType[str, Changes](
    {
        "SallyportNoGateReady": {
            f"sallyport_ready{G}": "1x120 0x79",
            'sallyport_ready{instance="g1",job="s"}': None,
        },
        "SallyportOneGateLeft": {f"sallyport_ready{G}": "1x120 0x79"},
        "SallyportGateNotReached": {
            'apiserver_admission_webhook_rejection_count{name="validate.sallyport.dev",'
            'error_type="calling_webhook_error"}': "0x120 0+1x79",
        },
        "SallyportRegistrationDiffers": {
            f"sallyport_registration_healthy{{{WEBHOOK}}}": "1x120 0x79",
        },
        "SallyportRegistrationUnknown": {
            f"sallyport_registration_healthy{{{WEBHOOK}}}": "1x120",
        },
        "SallyportRegistrationChanged": {
            f"sallyport_registration_changed_total{{{WEBHOOK}}}": "0x170 1x29",
        },
        "SallyportNobodyAsks": {
            f'{ASKED},verdict="allow"}}': "0+600x80 48000x119",
            DENIED: "0+20x80 1600x119",
        },
        "SallyportReviewsNotJudged": {
            'sallyport_errors_total{instance="g0",job="s",kind="internal"}': "0x120 0+60x79",
        },
        "SallyportFieldUnknown": {UNKNOWN: "0x150 1x49"},
        "SallyportPoliciesRefused": {f"sallyport_bundle_refused{G}": "1x200"},
        "SallyportPoliciesWait": {f"sallyport_bundle_pending_since_seconds{C}": "60x200"},
        "SallyportPoliciesNotTaken": {f"sallyport_bundle_source_problem{C}": "0x150 1x49"},
        "SallyportPoliciesNotFollowed": {
            f"sallyport_bundle_following_restarts_total{G}": "0x170 0+1x29",
        },
        "SallyportRefusesMany": {
            DENIED: "0+20x150 3000+500x49",
        },
        "SallyportReviewsSlow": {
            'sallyport_admission_duration_seconds_bucket{webhook="validate",le="0.01"}': "0x200",
        },
        "SallyportTurnsAway": {
            'sallyport_rejected_bodies_total{instance="g0",job="s",status="503"}': "0+60x200",
        },
        "SallyportHostileRequests": {
            'sallyport_rejected_bodies_total{instance="g0",job="s",status="400"}': "0+60x200",
        },
        "SallyportCertificateLate": {LEFT: "1900000x200"},
        "SallyportCertificateEnds": {
            f"sallyport_certificate_not_after_seconds{G}": "3600+60x200",
            LEFT: None,
            LIFE: None,
        },
        "SallyportCertificateTrouble": {
            'sallyport_certificate_troubles{instance="c0",job="s",mends="person"}': "1x200",
        },
        "SallyportClockOff": {f"sallyport_certificate_clock_offset_seconds{C}": "-121x200"},
        "SallyportCertificateNotLoaded": {
            'sallyport_certificate_reloads_total{instance="g0",job="s",result="error"}': "0+1x200",
        },
        "SallyportBreakGlassOpen": {f"sallyport_break_glass_open{C}": "0x170 1x29"},
        "SallyportNoLeader": {f"sallyport_leader{C}": "1x120 0x79"},
        "SallyportTwoLeaders": {'sallyport_leader{instance="c1",job="s"}': "1x200"},
        "SallyportLoopFails": {
            'sallyport_loop_errors_total{instance="c0",job="s",loop="egress"}': "0x120 0+1x79",
            'sallyport_loop_last_success_timestamp_seconds{instance="c0",job="s",loop="egress"}': (
                "0+60x120 7200x79"
            ),
        },
        "SallyportSweepStuck": {
            f"sallyport_sweep_last_finished_timestamp_seconds{C}": "0x200",
            f"sallyport_sweep_interval_seconds{C}": "600x200",
        },
        "SallyportKindBroken": {
            'sallyport_crd_healthy{instance="c0",job="s",crd="approvals.sallyport.dev"}': "0x200",
        },
        "SallyportSandboxMissing": {f"sallyport_sandbox_missing{C}": "2x200"},
        "SallyportSandboxCapacityOld": {
            'sallyport_sandbox_capacity_timestamp_seconds{runtime_class="gvisor"}': "0x200",
        },
        "SallyportBackstopNotEvaluated": {IGNORED: "_x175 1x24"},
        "SallyportBackstopOld": {LOOKED: "0+60x150 9000x49"},
        "SallyportBackstopChanged": {f"sallyport_backstop_restored_total{C}": "0x150 1x49"},
        "SallyportEgressNotWritten": {f"sallyport_egress_namespaces_failing{C}": "3x200"},
        "SallyportEgressOpenedByOthers": {f"sallyport_egress_foreign_policies{C}": "1x200"},
        "SallyportServiceTagsBroken": {f"sallyport_egress_service_tags_healthy{C}": "0x200"},
        "SallyportSpoolFull": {f"sallyport_spool_full{G}": "1x200"},
        "SallyportNothingShipped": {f"sallyport_spool_oldest_seconds{G}": "301x200"},
        "SallyportSpoolFills": {
            f"sallyport_spool_oldest_seconds{G}": "1x120 60+60x79",
            f"sallyport_spool_seconds_left{G}": "14000-60x200",
        },
        "SallyportSpoolSmall": {SPOOL_TAKEN: "0+6000000x200"},
        "SallyportUnrecorded": {
            'sallyport_unrecorded_decisions_total{instance="g0",job="s",outcome="refused"}': (
                "0x177 1x22"
            ),
        },
        "SallyportSpoolDamaged": {f"sallyport_spool_damages_total{G}": "0x170 1x29"},
        "SallyportLedgerFills": {LEDGER_DAY: "600000x200"},
        "SallyportLedgerAlmostFull": {LEDGER_HOUR: "43000x200"},
        "SallyportLedgerOverBudget": {LEDGER_SIZE: f"{43 * GIB}x200"},
        "SallyportLedgerRoomUnknown": {
            LEDGER_FREE: None,
            LEDGER_MAX: None,
            LEDGER_DAY: None,
            LEDGER_HOUR: None,
        },
        "SallyportRecordsQuarantined": {
            'sallyport_received_records_total{instance="a0",job="s",result="quarantined"}': (
                "0x170 1x29"
            ),
        },
        "SallyportGatesNotProved": {f"{UNPROVED}{{{CHECKING}}}": "0x1600"},  # See `A_DAY`.
        "SallyportLedgerWrittenPast": {f"sallyport_ledger_rows_outside{A}": "1x200"},
        "SallyportLedgerNotSigned": {
            f"sallyport_ledger_signed_records{A}": "0+600x120 72000x79",
            f"sallyport_ledger_head_timestamp_seconds{A}": "0+60x120 7200x79",
        },
        "SallyportLedgerNotAnchored": {
            'sallyport_ledger_anchored_timestamp_seconds{instance="a0",job="s",anchor="file"}': (
                "0+60x120 7200x79"
            ),
            'sallyport_ledger_anchor_failures_total{instance="a0",job="s",anchor="file"}': (
                "0x120 0+1x79"
            ),
        },
        "SallyportLedgerNotTimestamped": {
            f"sallyport_ledger_timestamp_failing_seconds{A}": "0x120 0+60x79"
        },
        "SallyportPodsNotRecorded": {f"sallyport_pod_gaps_total{C}": "0x170 1x29"},
        "SallyportNoticeGivenUp": {
            'sallyport_notices_dead_total{instance="a0",job="s",sink="pager"}': "2x150 3x49",
        },
        "SallyportSinkBehind": {
            'sallyport_sink_failing_seconds{instance="a0",job="s",sink="pager"}': "0x100 0+60x99",
        },
        "SallyportRiskOld": {
            'sallyport_risk_age_seconds{instance="g0",job="s",of="users"}': "0+60x200"
        },
        "SallyportRiskProblem": {
            'sallyport_risk_problem{instance="c0",job="s",of="users"}': "1x200"
        },
        "SallyportRiskTableBroken": {f"sallyport_risk_table_broken{C}": "1x200"},
        "SallyportWeightsFinding": {
            # The first of its kind: nobody has seen a zero.
            'sallyport_weight_findings_total{detection="mass-read",severity="high"}': "_x175 1x24",
        },
        "SallyportWeightsBlind": {
            'sallyport_weight_lag_seconds{instance="a0",job="s",source="logs"}': "0+60x200"
        },
        "SallyportDetectionFails": {
            'sallyport_weight_failures_total{instance="a0",job="s",detection="copy-out"}': (
                "0x170 1x29"
            ),
        },
    }
)
"""By alert: the series that are not as in `HEALTHY`; None is one that is not there."""

AT: Final = "3h"
"""When they are looked at: minute 180."""

A_DAY_LATER: Final = "26h"

NOT_AFTER: Final = f"sallyport_certificate_not_after_seconds{G}"
DAY: Final[Changes] = {LIFE: "86400x200", LEFT: "43200x200", NOT_AFTER: "43200+60x200"}
"""Certificates of a day, half through it."""

WITNESS: Final = '{instance="a0",job="s",anchor="witness"}'
SIGNING: Final = '{instance="a0",job="s",anchor="signing"}'

ALSO: Final[tuple[tuple[str, Changes, bool], ...]] = (
    ("SallyportCertificateEnds", DAY, False),
    ("SallyportCertificateLate", DAY, False),
    ("SallyportCertificateLate", {**DAY, LEFT: "21000x200"}, True),
    ("SallyportCertificateEnds", {**DAY, LEFT: "21000x200"}, False),
    ("SallyportCertificateEnds", {**DAY, LEFT: "17000x200"}, True),
    ("SallyportCertificateEnds", {LEFT: "86000x200"}, True),
    ("SallyportCertificateEnds", {LEFT: "87000x200"}, False),
    # One gate alone has not got what control made long ago.
    ("SallyportCertificateLate", {NOT_AFTER: "1900000+60x200"}, True),
    ("SallyportCertificateEnds", {NOT_AFTER: "1900000+60x200"}, False),
    ("SallyportBackstopNotEvaluated", {REFUSED: "0+60x200"}, False),
    ("SallyportBackstopNotEvaluated", {IGNORED: "0x150 0+1x49"}, True),
    # Ten minutes of a registry that is away, and one defect.
    ("SallyportPoliciesNotTaken", {f"sallyport_bundle_source_problem{C}": "0x170 1x29"}, False),
    (
        "SallyportPoliciesNotFollowed",
        {f"sallyport_bundle_following_restarts_total{G}": "0x170 1x29"},
        False,
    ),
    # An upgrade of hours ago, after which records without proof still come.
    ("SallyportGatesNotProved", {f"{UNPROVED}{{{CHECKING}}}": "0+1x200"}, False),
    # A witness that has not cosigned since the auditor started; and heads that are not signed.
    (
        "SallyportLedgerNotAnchored",
        {f"sallyport_ledger_anchor_failures_total{WITNESS}": "0x150 0+1x49"},
        True,
    ),
    (
        "SallyportLedgerNotAnchored",
        {f"sallyport_ledger_anchor_failures_total{SIGNING}": "0x150 0+1x49"},
        False,
    ),
    # No head was ever signed: what is compared has no series.
    (
        "SallyportLedgerNotSigned",
        {
            f"sallyport_ledger_signed_records{A}": None,
            f"sallyport_ledger_head_timestamp_seconds{A}": None,
        },
        True,
    ),
    (
        "SallyportLedgerNotSigned",
        {
            f"sallyport_ledger_records{A}": "0x200",
            f"sallyport_ledger_signed_records{A}": None,
            f"sallyport_ledger_head_timestamp_seconds{A}": None,
        },
        False,
    ),
    # A burst of an hour is no trend, and a spool that is full of nothing waits for nobody.
    ("SallyportLedgerFills", {LEDGER_HOUR: "100000x200"}, False),
    ("SallyportSpoolFills", {f"sallyport_spool_seconds_left{G}": "9000x200"}, False),
    # Nothing grows, and little is left: of a budget, and of a file system without one.
    ("SallyportLedgerFills", {LEDGER_FREE: f"{4 * GIB}x200", LEDGER_DAY: None}, True),
    ("SallyportLedgerFills", {LEDGER_FREE: f"{GIB}x200", LEDGER_MAX: None}, True),
    ("SallyportLedgerFills", {LEDGER_FREE: f"{3 * GIB}x200", LEDGER_MAX: None}, False),
    ("SallyportLedgerAlmostFull", {LEDGER_FREE: f"{GIB // 2}x200", LEDGER_HOUR: None}, True),
    ("SallyportLedgerAlmostFull", {LEDGER_FREE: f"{4 * GIB}x200"}, False),
    # Refusals go by size within the hour.
    ("SallyportLedgerOverBudget", {LEDGER_SIZE: f"{20 * GIB}x110 {43 * GIB}x89"}, False),
    # One in five is refused today, as it was yesterday.
    ("SallyportRefusesMany", {DENIED: "0+500x200"}, False),
)
"""What an alert is, or is not, raised on besides."""

A_DAY: Final[tuple[tuple[str, Changes, bool], ...]] = (
    ("SallyportGatesNotProved", FIRES["SallyportGatesNotProved"], True),
    # Records without proof come, and the auditor's Pod was away for half an hour.
    ("SallyportGatesNotProved", {f"{UNPROVED}{{{CHECKING}}}": "0+1x700 _x30 0x870"}, True),
    # `require` was set an hour ago.
    (
        "SallyportGatesNotProved",
        {
            f"{UNPROVED}{{{CHECKING}}}": "0x1500 stale",
            f"{UNPROVED}{{{REQUIRING}}}": "_x1500 0x100",
        },
        False,
    ),
)
"""Of alerts that look back a day, what each is raised on, after a day and on these series alone."""

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
    made = group_of({**HEALTHY, **changes}, AT, alert, fires=fires)
    return made | {"name": f"{alert or 'healthy'}: {changes}"}


def group_of(series: Changes, at: str, alert: str | None, *, fires: bool) -> dict[str, Any]:
    """Return the same of these series alone, looked at after the time `at`."""
    selected = f'{{alertname="{alert}",alertstate="firing"}}' if alert else ""
    return {
        "interval": "1m",
        "name": f"{alert or 'healthy'}: {series}",
        "input_series": [
            {"series": name, "values": values}
            for name, values in series.items()
            if values is not None
        ],
        "promql_expr_test": [
            {
                "expr": f"count(ALERTS{selected}) > bool 0",
                "eval_time": at,
                "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
            }
        ],
    }


def test_each_fires_on_what_it_is_for_and_none_on_what_is_healthy(tmp_path: Path) -> None:
    """Real Prometheus rules on made series: healthy hours, and one change for each alert."""
    assert list(FIRES) == ALERTS
    of_a_day = {alert for alert, _, _ in A_DAY}
    tests = [
        group({}, None, fires=False),
        *(group(changes, alert) for alert, changes in FIRES.items() if alert not in of_a_day),
        *(group(changes, alert, fires=fires) for alert, changes, fires in ALSO),
    ]
    content = {"rule_files": [str(FILE)], "evaluation_interval": "5m", "tests": tests}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(content))
    promtool(tmp_path, "test", "rules", "tests.yaml")


def test_an_alert_that_looks_back_a_day_fires_after_a_day(tmp_path: Path) -> None:
    """Its rule alone: the others take minutes over so many."""
    of_a_day = {alert for alert, _, _ in A_DAY}
    rules = [rule for rule in RULES if rule["alert"] in of_a_day]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "day", "rules": rules}]}))
    tests = [group_of(series, A_DAY_LATER, alert, fires=fires) for alert, series, fires in A_DAY]
    content = {"rule_files": [str(file)], "evaluation_interval": "5m", "tests": tests}
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
