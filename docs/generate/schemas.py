"""Makes the JSON Schemas of docs/reference from the types that are encoded.

python -m docs.generate.schemas [--check]
"""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from audit.ledger.log.proofs import FORMAT as LEDGER_PROOF
from audit.ledger.log.proofs import ConsistencyProof, InclusionProof
from audit.ledger.log.verdict import FORMAT as LEDGER_VERDICT
from audit.ledger.log.verdict import Verdict as LedgerVerdict
from audit.notifications.notice import FORMAT as NOTICE
from audit.notifications.notice import Notice
from audit.reports.model import FORMAT as REPORT
from audit.reports.model import Report as AccessReport
from cli.accesses.run import FORMAT as ACCESSES
from cli.accesses.run import AccessList, ShownAccess
from cli.cases.run import FORMAT as CASES
from cli.cases.run import CaseList, ShownCase
from cli.certs.run import FORMAT as CERTS
from cli.certs.run import CertificatesStatus
from cli.egress.enrol import FORMAT as EGRESS_ENROL
from cli.egress.enrol import EnrolmentStep
from cli.egress.release import FORMAT as EGRESS_RELEASE
from cli.egress.release import ReleaseResult
from cli.egress.status import FORMAT as EGRESS_STATUS
from cli.egress.status import EgressStatus
from cli.egress.suggest import FORMAT as EGRESS_SUGGEST
from cli.egress.suggest import SuggestedAllowlists
from cli.egress.verify import FORMAT as EGRESS_VERIFY
from cli.egress.verify import EgressVerification
from cli.findings.run import FORMAT as FINDINGS
from cli.findings.run import FindingList, ShownFinding
from cli.findings.statement import StatementResult
from cli.notifications.run import FORMAT as NOTIFICATIONS
from cli.notifications.run import NotificationsStatus, TriedSink
from cli.policy.activation.status import FORMAT as POLICY_STATUS
from cli.policy.activation.status import Standing
from cli.policy.bench.run import FORMAT as POLICY_BENCH
from cli.policy.bench.run import Benched
from cli.policy.lint.render import FORMAT as POLICY_LINT
from cli.policy.lint.render import Linted
from cli.policy.replay.counts import FORMAT as REPLAY
from cli.policy.replay.counts import Replayed
from cli.policy.shadow.status import FORMAT as SHADOW
from cli.policy.shadow.status import ShadowStatus
from cli.policy.shared.documents import FORMAT as POLICY_MADE
from cli.policy.shared.documents import Activation, Begun, MadeBundle
from cli.policy.test.run import FORMAT as POLICY_TEST
from cli.policy.test.run import Tested
from cli.preflight.cluster.model import FORMAT as PREFLIGHT_CLUSTER
from cli.preflight.cluster.model import ClusterPreflight
from cli.preflight.run import FORMAT as PREFLIGHT
from cli.preflight.run import Compared
from cli.profile.check import CheckedWorkload
from cli.profile.diff import Difference as ProfileDifference
from cli.profile.suggest import Suggestion
from cli.quarantine.run import FORMAT as QUARANTINE
from cli.quarantine.run import QuarantineList, ShownRecord
from cli.report.run import FORMAT as REPORT_MADE
from cli.report.run import WrittenReport
from cli.review.render import FORMAT as DIFFERENCE
from cli.review.render import Difference
from cli.risk.show import FORMAT as RISK_SHOW
from cli.risk.show import Shown
from cli.risk.status import FORMAT as RISK_STATUS
from cli.risk.status import Status
from cli.risk.table import FORMAT as RISK_TABLE
from cli.risk.table import Matrix
from cli.rollout.plan import FORMAT as ROLLOUT_PLAN
from cli.rollout.plan import Plan
from cli.rollout.set import FORMAT as ROLLOUT_SET
from cli.rollout.set import Answer
from cli.rollout.verdicts import FORMAT as ROLLOUT_STATUS
from cli.rollout.verdicts import Status as RolloutStatus
from cli.sandbox.run import FORMAT as SANDBOX_REPORT
from cli.sandbox.run import Report
from cli.shared.cluster_status.model import FORMAT as STATUS
from cli.shared.cluster_status.model import InstallationStatus
from cli.shared.results import Reviewed
from cli.sign_off.run import FORMAT as SIGN_OFF
from cli.sign_off.run import SignedReport
from cli.support_bundle.archive import FORMAT as SUPPORT_BUNDLE
from cli.support_bundle.archive import BundleManifest
from cli.verify.run import FORMAT as VERIFY
from cli.verify.run import ClusterVerification
from cli.weights.access import FORMAT as WEIGHTS_ACCESS
from cli.weights.access import Accesses
from cli.weights.ingest import FORMAT as INGEST
from cli.weights.ingest import IngestSummary
from cli.who_can.run import UsersOfProfile
from core.decision.document import FORMAT as DECISION
from core.decision.document import DecisionDocument
from core.decision.refusal_aggregate import FORMAT as AGGREGATE
from core.decision.refusal_aggregate import RefusalAggregate
from core.risk.look_back import FORMAT as LOOK_BACK
from core.risk.look_back import LookBackDocument
from core.weights.documents.access import FORMAT as ACCESS
from core.weights.documents.access import Access
from core.weights.documents.events import FORMAT as FINDING
from core.weights.documents.events import Finding
from egress.analysis.connectivity_report import FORMAT as CONNECTIVITY
from egress.analysis.connectivity_report import ConnectivityDiff, ConnectivityReport
from egress.analysis.network_doctor import FORMAT as EGRESS_DOCTOR
from egress.analysis.network_doctor import NetworkReport

FOLDER = Path(__file__).parents[1] / "reference"
SCHEMAS: dict[str, tuple[str, str, Any]] = {
    "decision.schema.json": (
        f"decision-{DECISION}",
        f"Sallyport decision document, format {DECISION}",
        DecisionDocument,
    ),
    "aggregate.schema.json": (
        f"aggregate-{AGGREGATE}",
        f"Refusals that have no records of their own, format {AGGREGATE}",
        RefusalAggregate,
    ),
    "look-back.schema.json": (
        f"look-back-{LOOK_BACK}",
        f"What an identity at risk left behind, format {LOOK_BACK}",
        LookBackDocument,
    ),
    "notice.schema.json": (
        f"notice-{NOTICE}",
        f"What a sink is told, format {NOTICE}",
        Notice,
    ),
    "notifications-test.schema.json": (
        f"notifications-test-{NOTIFICATIONS}",
        f"sallyport notifications test -o json, format {NOTIFICATIONS}",
        TriedSink,
    ),
    "notifications-status.schema.json": (
        f"notifications-status-{NOTIFICATIONS}",
        f"sallyport notifications status -o json, format {NOTIFICATIONS}",
        NotificationsStatus,
    ),
    "accesses-list.schema.json": (
        f"accesses-list-{ACCESSES}",
        f"sallyport accesses list -o json, format {ACCESSES}",
        AccessList,
    ),
    "accesses-show.schema.json": (
        f"accesses-show-{ACCESSES}",
        f"sallyport accesses show -o json, format {ACCESSES}",
        ShownAccess,
    ),
    "cases-list.schema.json": (
        f"cases-list-{CASES}",
        f"sallyport cases list -o json, format {CASES}",
        CaseList,
    ),
    "cases-show.schema.json": (
        f"cases-show-{CASES}",
        f"sallyport cases show -o json, format {CASES}",
        ShownCase,
    ),
    "findings-list.schema.json": (
        f"findings-list-{FINDINGS}",
        f"sallyport findings list -o json, format {FINDINGS}",
        FindingList,
    ),
    "findings-show.schema.json": (
        f"findings-show-{FINDINGS}",
        f"sallyport findings show -o json, format {FINDINGS}",
        ShownFinding,
    ),
    "findings-set.schema.json": (
        f"findings-set-{FINDINGS}",
        f"sallyport findings set -o json, format {FINDINGS}",
        StatementResult,
    ),
    "sign-off.schema.json": (
        f"sign-off-{SIGN_OFF}",
        f"sallyport sign-off -o json, format {SIGN_OFF}",
        SignedReport,
    ),
    "quarantine-list.schema.json": (
        f"quarantine-list-{QUARANTINE}",
        f"sallyport quarantine list -o json, format {QUARANTINE}",
        QuarantineList,
    ),
    "quarantine-show.schema.json": (
        f"quarantine-show-{QUARANTINE}",
        f"sallyport quarantine show -o json, format {QUARANTINE}",
        ShownRecord,
    ),
    "access.schema.json": (
        f"access-{ACCESS}",
        f"What the ledger keeps of a request to storage, format {ACCESS}",
        Access,
    ),
    "finding.schema.json": (
        f"finding-{FINDING}",
        f"What the ledger keeps of a finding, format {FINDING}",
        Finding,
    ),
    "certs-status.schema.json": (
        f"certs-status-{CERTS}",
        f"sallyport certs status -o json, format {CERTS}",
        CertificatesStatus,
    ),
    "egress-connlist.schema.json": (
        f"egress-connlist-{CONNECTIVITY}",
        f"sallyport egress connlist -o json, format {CONNECTIVITY}",
        ConnectivityReport,
    ),
    "egress-diff.schema.json": (
        f"egress-diff-{CONNECTIVITY}",
        f"sallyport egress diff -o json, format {CONNECTIVITY}",
        ConnectivityDiff,
    ),
    "egress-doctor.schema.json": (
        f"egress-doctor-{EGRESS_DOCTOR}",
        f"sallyport egress doctor -o json, format {EGRESS_DOCTOR}",
        NetworkReport,
    ),
    "egress-enrol.schema.json": (
        f"egress-enrol-{EGRESS_ENROL}",
        f"sallyport egress enrol -o json, and release NAMESPACE -o json, format {EGRESS_ENROL}",
        EnrolmentStep,
    ),
    "egress-release.schema.json": (
        f"egress-release-{EGRESS_RELEASE}",
        f"sallyport egress release -o json, format {EGRESS_RELEASE}",
        ReleaseResult,
    ),
    "egress-status.schema.json": (
        f"egress-status-{EGRESS_STATUS}",
        f"sallyport egress status -o json, format {EGRESS_STATUS}",
        EgressStatus,
    ),
    "egress-suggest.schema.json": (
        f"egress-suggest-{EGRESS_SUGGEST}",
        f"sallyport egress suggest -o json, format {EGRESS_SUGGEST}",
        SuggestedAllowlists,
    ),
    "egress-verify.schema.json": (
        f"egress-verify-{EGRESS_VERIFY}",
        f"sallyport egress verify -o json, format {EGRESS_VERIFY}",
        EgressVerification,
    ),
    "ledger-prove.schema.json": (
        f"ledger-prove-{LEDGER_PROOF}",
        f"sallyport ledger prove, format {LEDGER_PROOF}",
        InclusionProof | ConsistencyProof,
    ),
    "ledger-verify.schema.json": (
        f"ledger-verify-{LEDGER_VERDICT}",
        f"sallyport ledger verify -o json, format {LEDGER_VERDICT}",
        LedgerVerdict,
    ),
    "profile-check.schema.json": (
        "profile-check-1",
        "sallyport profile check -o json, format 1",
        list[CheckedWorkload],
    ),
    "profile-diff.schema.json": (
        "profile-diff-1",
        "sallyport profile diff -o json, format 1",
        ProfileDifference,
    ),
    "profile-suggest.schema.json": (
        "profile-suggest-1",
        "sallyport profile suggest -o json, format 1",
        Suggestion,
    ),
    "report.schema.json": (
        f"report-{REPORT}",
        f"sallyport report --format json, format {REPORT}",
        AccessReport,
    ),
    "report-made.schema.json": (
        f"report-made-{REPORT_MADE}",
        f"sallyport report -o json, format {REPORT_MADE}",
        WrittenReport,
    ),
    "weights-access.schema.json": (
        f"weights-access-{WEIGHTS_ACCESS}",
        f"sallyport weights access -o json, format {WEIGHTS_ACCESS}",
        Accesses,
    ),
    "who-can-use.schema.json": (
        "who-can-use-1",
        "sallyport who-can use -o json, format 1",
        UsersOfProfile,
    ),
    "weights-ingest.schema.json": (
        f"weights-ingest-{INGEST}",
        f"sallyport weights ingest -o json, format {INGEST}",
        IngestSummary,
    ),
    "policy-activate.schema.json": (
        f"policy-activate-{POLICY_MADE}",
        f"sallyport policy activate and rollback -o json, format {POLICY_MADE}",
        Activation,
    ),
    "policy-bench.schema.json": (
        f"policy-bench-{POLICY_BENCH}",
        f"sallyport policy bench -o json, format {POLICY_BENCH}",
        Benched,
    ),
    "policy-bundle.schema.json": (
        f"policy-bundle-{POLICY_MADE}",
        f"sallyport policy build, fetch and sign -o json, format {POLICY_MADE}",
        MadeBundle,
    ),
    "policy-lint.schema.json": (
        f"policy-lint-{POLICY_LINT}",
        f"sallyport policy lint -o json, format {POLICY_LINT}",
        Linted,
    ),
    "policy-new.schema.json": (
        f"policy-new-{POLICY_MADE}",
        f"sallyport policy new -o json, format {POLICY_MADE}",
        Begun,
    ),
    "policy-replay.schema.json": (
        f"policy-replay-{REPLAY}",
        f"sallyport policy replay -o json, format {REPLAY}",
        Replayed,
    ),
    "policy-status.schema.json": (
        f"policy-status-{POLICY_STATUS}",
        f"sallyport policy status -o json, format {POLICY_STATUS}",
        Standing,
    ),
    "policy-shadow.schema.json": (
        f"policy-shadow-{SHADOW}",
        f"sallyport policy shadow status -o json, format {SHADOW}",
        ShadowStatus,
    ),
    "policy-test.schema.json": (
        f"policy-test-{POLICY_TEST}",
        f"sallyport policy test -o json, format {POLICY_TEST}",
        Tested,
    ),
    "preflight-cluster.schema.json": (
        f"preflight-cluster-{PREFLIGHT_CLUSTER}",
        f"sallyport preflight cluster -o json, format {PREFLIGHT_CLUSTER}",
        ClusterPreflight,
    ),
    "preflight.schema.json": (
        f"preflight-{PREFLIGHT}",
        f"sallyport preflight -o json, format {PREFLIGHT}",
        Compared,
    ),
    "review.schema.json": ("review", "sallyport review -o json", list[Reviewed]),
    "review-diff.schema.json": (
        f"review-diff-{DIFFERENCE}",
        f"sallyport review --diff OLD -o json, format {DIFFERENCE}",
        Difference,
    ),
    "risk-show.schema.json": (
        f"risk-show-{RISK_SHOW}",
        f"sallyport risk show -o json, format {RISK_SHOW}",
        Shown,
    ),
    "risk-status.schema.json": (
        f"risk-status-{RISK_STATUS}",
        f"sallyport risk status -o json, format {RISK_STATUS}",
        Status,
    ),
    "risk-table.schema.json": (
        f"risk-table-{RISK_TABLE}",
        f"sallyport risk table -o json, format {RISK_TABLE}",
        Matrix,
    ),
    "rollout-plan.schema.json": (
        f"rollout-plan-{ROLLOUT_PLAN}",
        f"sallyport rollout plan -o json, format {ROLLOUT_PLAN}",
        Plan,
    ),
    "rollout-set.schema.json": (
        f"rollout-set-{ROLLOUT_SET}",
        f"sallyport rollout set -o json, format {ROLLOUT_SET}",
        Answer,
    ),
    "rollout-status.schema.json": (
        f"rollout-status-{ROLLOUT_STATUS}",
        f"sallyport rollout status -o json, format {ROLLOUT_STATUS}",
        RolloutStatus,
    ),
    "sandbox-report.schema.json": (
        f"sandbox-report-{SANDBOX_REPORT}",
        f"sallyport sandbox report -o json, format {SANDBOX_REPORT}",
        Report,
    ),
    "status.schema.json": (
        f"status-{STATUS}",
        f"sallyport status -o json, format {STATUS}",
        InstallationStatus,
    ),
    "support-bundle.schema.json": (
        f"support-bundle-{SUPPORT_BUNDLE}",
        f"MANIFEST.json of sallyport support-bundle, format {SUPPORT_BUNDLE}",
        BundleManifest,
    ),
    "verify.schema.json": (
        f"verify-{VERIFY}",
        f"sallyport verify -o json, format {VERIFY}",
        ClusterVerification,
    ),
}
"""By the file's name: the schema's, its title, and the type."""


def schema(name: str, title: str, kind: Any) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a type."""
    (root,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://sallyport.dev/schemas/{name}.json",
        "title": title,
        **root,
        "$defs": definitions,
    }


def main() -> int:
    """Write the files, or with --check say which are stale."""
    texts = {
        FOLDER / file: json.dumps(schema(*made), indent=2) + "\n" for file, made in SCHEMAS.items()
    }
    if "--check" not in sys.argv[1:]:
        for file, text in texts.items():
            file.write_text(text)
        return 0
    stale = [file for file, text in texts.items() if not file.exists() or file.read_text() != text]
    for file in stale:
        print(f"{file} is stale: make docs")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
