"""Types that are only written, and do not say how: nothing else tells that they leave the process.

Whatever is decoded, or has a mark of how it is written, is found without being named here
(`tests.compat.wire`).
"""

from typing import Any, Final

from admission.explain.explanation import Explanation as Explained
from audit.access.cases import FindingCases
from audit.access.detections.catalogue import DETECTIONS
from audit.access.server.reads_protocol import ReadsPage
from audit.ledger.log.verdict import Verdict
from audit.ledger.server.acts_protocol import ActsPage
from audit.reports.model import Report
from cli.approve.run import ApprovalResult as Approved
from cli.certs.run import CertificatesStatus
from cli.egress.enrol import EnrolmentStep
from cli.egress.release import ReleaseResult
from cli.egress.status import EgressStatus
from cli.egress.suggest import SuggestedAllowlists as SuggestedEgress
from cli.egress.verify import EgressVerification as VerifiedEgress
from cli.policy.shared.cases import JudgedCase
from cli.preflight.cluster.model import ClusterPreflight
from cli.profile.check import CheckedWorkload
from cli.profile.diff import Difference as ProfileDifference
from cli.profile.suggest import Suggestion
from cli.report.run import WrittenReport
from cli.shared.cluster_status.model import InstallationStatus
from cli.shared.ledger_keys import PublicKey
from cli.shared.ledger_verification import CheckedProof
from cli.support_bundle.archive import BundleManifest
from cli.verify.run import ClusterVerification
from cli.weights.access import Accesses
from cli.weights.ingest import IngestSummary
from cli.who_can.run import UsersOfProfile as WhoCanUse
from core.decision.decision import Decision
from core.sandbox.capacity import Capacity
from docs.generate.schemas import SCHEMAS
from egress.analysis.connectivity_report import ConnectivityDiff, ConnectivityReport
from egress.analysis.explanation import Explanation as ExplainedEgress
from egress.analysis.graph import EgressGraph
from egress.analysis.network_doctor import NetworkReport
from egress.analysis.plan import AllowlistPlan as EgressPlan
from egress.analysis.suggestion import SuggestedEntry
from egress.flows.records import DnsAnswer as FlowsAnswer
from identity.rights.who_can import ProfileUser
from policies.gatekeeper_import.importer import ImportReport
from policies.projection.model import Standings
from webhooks.log import _Line

WRITTEN: Final[tuple[Any, ...]] = (
    *(kind for _, _, kind in SCHEMAS.values()),
    *(type(each.begin()) for each in DETECTIONS),
    Accesses,
    ActsPage,
    Approved,
    Capacity,
    FindingCases,
    CertificatesStatus,
    CheckedWorkload,
    CheckedProof,
    ConnectivityDiff,
    ConnectivityReport,
    Decision,
    EgressPlan,
    Explained,
    ExplainedEgress,
    FlowsAnswer,
    ImportReport,
    JudgedCase,
    WrittenReport,
    EgressGraph,
    ProfileDifference,
    PublicKey,
    ProfileUser,
    ReadsPage,
    EnrolmentStep,
    ReleaseResult,
    NetworkReport,
    Report,
    Standings,
    SuggestedEntry,
    SuggestedEgress,
    EgressStatus,
    Suggestion,
    IngestSummary,
    Verdict,
    ClusterVerification,
    BundleManifest,
    ClusterPreflight,
    InstallationStatus,
    VerifiedEgress,
    WhoCanUse,
    _Line,
)
