"""Makes docs/reference/names.md from the code: `python -m docs.generate.names [--check]`."""

import ast
import inspect
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from prometheus_client import CollectorRegistry
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from admission.bundles.active import BundleCounts
from admission.bundles.shadow import Shadow
from app.settings.root import Settings
from audit.access.ingest.metrics import WeightsCollector
from audit.behaviour.metrics import BehaviourCollector
from audit.clients.auditor import AuditorChannel
from audit.clients.behaviour import BehaviourClient
from audit.ledger.log.metrics import LogCollector
from audit.ledger.records.destination import Receipt
from audit.ledger.server.metrics import ReceiverCollector
from audit.ledger.spool.metrics import RefusalCollector, ShareCollector, SpoolCollector
from audit.ledger.spool.queue import SpoolStatus
from audit.ledger.spool.shipper import ShipperStatus
from audit.ledger.store.metrics import RoomCollector
from audit.ledger.store.room import RoomForecast
from audit.notifications.metrics import NotificationsCollector
from control.approval_events import ApprovalEvents
from control.backstop import BackstopMetrics
from control.bundles.activation import BundleActivation
from control.bundles.registry import SourceMetrics
from control.certificates.status import CertificateStatus
from control.discovery.loop import Discovery
from control.egress.metrics import EgressMetrics
from control.loop import LoopMetrics
from control.registrations.metrics import RegistrationMetrics
from control.required_crds import RequiredDefinitions
from control.risk.behaviour import Behaviours
from control.risk.look_back.loop import LookBackMetrics
from control.risk.poll.metrics import PollMetrics
from control.risk.push.metrics import PushMetrics
from control.risk.table import RiskTables
from control.sandbox_capacity.loop import CapacitySettings, SandboxCapacity
from control.sweep.metrics import SweepMetrics
from control.weights.pod_lifecycle.loop import LifeMetrics
from core.base import names
from core.policy_bundles import BASE, GateAnnouncement
from core.risk.snapshot import RiskSnapshot
from docs.generate.rule_ids import find_rule_ids
from kube.approvals.watch import BreakGlasses, Exceptions
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.risk.store import RiskStore
from webhooks.bundle_metrics import BundleCollector, ShadowCollector
from webhooks.metrics import Metrics, MetricSources
from webhooks.risk_metrics import RiskCollector

PAGE = Path(__file__).parents[1] / "reference" / "names.md"

_INTRO = """# Names

Made from the code by `make docs`; do not edit. What scripts may rely on.

## Labels, annotations, verbs and resources
From `core/base/names.py`. Everything that Sallyport adds is under `sallyport.dev/`.

"""

_FORMATS = """
## Formats
| What | Format |
| --- | --- |
| Decision id | UUID of version 7 (RFC 9562): sorts by time. In the refusal's message, the audit annotation `decision`, the log's `id` |
| Rule id | Path of the Rego package without its first part, `privileges/host/network`; of [rules in Python](#rules-in-python) two parts; what could not be judged: `error/<kind>` |
| Privilege, pattern | `docs/reference/privileges.md` |
| Policy revision | First 12 hex digits of the SHA-256 of the compiled policies and their METADATA |
| Profiles revision | First 12 hex digits of the SHA-256 of all profiles and the cluster's version |
| Cluster id | `cluster_id`, else the UID of the Namespace `kube-system`; `local` for a folder |
| Client certificate for shipping | One URI SAN `sallyport://<cluster id>/gate` or `sallyport://<cluster id>/control`; a gate's may name its Pod, `sallyport://<cluster id>/gate/<Pod>` |
| Subject in logs and records | `system:…` names as they are; `oid:<Entra object id>`; else `user:<first 16 hex digits of the SHA-256 of the user name>` |

## Audit annotations
kube-apiserver puts the webhook's name before each (`validate.sallyport.dev/decision`,
`workloads.sallyport.dev/decision`, and so for every webhook of `deploy/webhooks.yaml`): `decision`,
`…/verdict`, `…/profile`, `…/mode`, `…/policy`, `…/profiles`, `…/findings`.

## Schemas
| What | Where |
| --- | --- |
| Decision document | `docs/reference/decision.schema.json` |
| Aggregate of refusals | `docs/reference/aggregate.schema.json` |
| `sallyport review -o json`, and with `--diff` | `docs/reference/review.schema.json`, `review-diff.schema.json` |
| `sallyport risk look-back -o json`, a list; and what the ledger keeps of look backs | `docs/reference/look-back.schema.json` |
| `sallyport policy build`, `fetch` and `sign` with `-o json` | `docs/reference/policy-bundle.schema.json` |
| `sallyport policy activate`, `rollback`, `status` and `new` with `-o json` | `docs/reference/policy-activate.schema.json`, `policy-status.schema.json`, `policy-new.schema.json` |
| `sallyport policy test`, `lint` and `bench` with `-o json` | `docs/reference/policy-test.schema.json`, `policy-lint.schema.json`, `policy-bench.schema.json` |
| `sallyport policy replay -o json`, and `policy shadow status` | `docs/reference/policy-replay.schema.json`, `policy-shadow.schema.json` |
| `MANIFEST.json` of `sallyport support-bundle` | `docs/reference/support-bundle.schema.json` |
| `sallyport preflight`, `preflight cluster`, `status` and `verify` with `-o json` | `docs/reference/preflight.schema.json`, `preflight-cluster.schema.json`, `status.schema.json`, `verify.schema.json` |
| `sallyport sandbox report -o json` | `docs/reference/sandbox-report.schema.json` |
| `sallyport risk status`, `show` and `table` with `-o json` | `docs/reference/risk-status.schema.json`, `risk-show.schema.json`, `risk-table.schema.json` |
| `sallyport findings`, `cases`, `accesses` and `quarantine`, each `list` and `show`, with `-o json` | `docs/reference/findings-list.schema.json`, `findings-show.schema.json`, and so on |
| `sallyport findings set -o json`, and `sign-off` | `docs/reference/findings-set.schema.json`, `sign-off.schema.json` |
| What a sink is told, `sallyport notifications test -o json`, and `status` | `docs/reference/notice.schema.json`, `notifications-test.schema.json`, `notifications-status.schema.json` |
| What the ledger keeps of a request to storage, and of a finding | `docs/reference/access.schema.json`, `finding.schema.json` |
| `sallyport report --format json`, and `report -o json` | `docs/reference/report.schema.json`, `report-made.schema.json` |
| `sallyport ledger verify -o json`, and `ledger prove` | `docs/reference/ledger-verify.schema.json`, `ledger-prove.schema.json` |
| `sallyport profile suggest`, `diff` and `check` with `-o json` | `docs/reference/profile-suggest.schema.json`, `profile-diff.schema.json`, `profile-check.schema.json` |
| `sallyport egress verify`, `suggest` and `release` with `-o json` | `docs/reference/egress-verify.schema.json`, `egress-suggest.schema.json`, `egress-release.schema.json` |
| `sallyport egress status` and `enrol` with `-o json` | `docs/reference/egress-status.schema.json`, `egress-enrol.schema.json` |
| `sallyport egress connlist` and `diff` with `-o json` | `docs/reference/egress-connlist.schema.json`, `egress-diff.schema.json` |
| `sallyport who-can use`, `weights access`, `weights ingest` and `certs status` with `-o json` | `docs/reference/who-can-use.schema.json`, `weights-access.schema.json`, `weights-ingest.schema.json`, `certs-status.schema.json` |
| Projection, the input of policies | `policies/rego/schema/projection.json` |
| Context, the input of signals of a request | `policies/rego/schema/judge.json` |
| The kinds that it adds, ContainerProfile to EgressDestinations | `helm/sallyport-crds/` |
"""

_RULES = """
## Rules in Python
A rule id of three parts is a folder of `policies/rego/`; one of two parts is written in Python, where this
table says. `identity/behaviour`, `egress/host-network`, `egress/break-glass` and what is said of an intent by itself (`egress/broad`)
warn and refuse nothing; `break-glass/relaxed` stands on what an open BreakGlass admits.

| Rule id | Module |
| --- | --- |
"""


def _attributes() -> Iterator[str]:
    body = ast.parse(inspect.getsource(names)).body
    for node, after in pairwise(body):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            value = getattr(names, node.targets[0].id)
            text = " ".join(str(after.value.value).split())
            yield f"| `{value}` | {text} |"


def _settings(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        path = f"{prefix}{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _settings(field.annotation, f"{path}.")
            continue
        default: Any = field.get_default(call_default_factory=True)
        shown = (
            ""
            if default in (None, PydanticUndefined)
            else f"`{getattr(default, 'value', default)}`"
        )
        variable = "SALLYPORT_" + path.upper().replace(".", "__")
        yield f"| `{path}` | `{variable}` | {shown} | {field.description or ''} |"


def _shadow() -> Shadow:
    def never() -> NoReturn:
        raise AssertionError

    return Shadow(never, never, never, 1.0)


def registry() -> CollectorRegistry:
    """Return a registry with the metrics of all processes."""
    metrics = Metrics("0")
    metrics.watch(MetricSources())
    spool = SpoolStatus(0, 0, 0, 0, 0, 0, 0.0, "", 0)
    metrics.registry.register(SpoolCollector(lambda: spool, lambda: ShipperStatus(0.0)))
    metrics.registry.register(RefusalCollector(lambda: 0))
    metrics.registry.register(ShareCollector(lambda: 0))
    metrics.registry.register(ReceiverCollector(lambda: Receipt(0, 0, 0), dict, dict))
    metrics.registry.register(LogCollector(lambda: None, lambda: None))
    metrics.registry.register(RoomCollector(RoomForecast))
    metrics.registry.register(WeightsCollector(lambda: None))
    metrics.registry.register(NotificationsCollector(tuple))
    metrics.registry.register(RiskCollector(RiskSnapshot))
    metrics.registry.register(ShadowCollector(_shadow()))
    metrics.registry.register(BundleCollector(lambda: GateAnnouncement(BASE, ""), BundleCounts))
    LoopMetrics(metrics.registry)
    BackstopMetrics(metrics.registry)
    RegistrationMetrics(metrics.registry)
    SourceMetrics(metrics.registry)
    LifeMetrics(metrics.registry)
    SweepMetrics(metrics.registry)
    LookBackMetrics(metrics.registry)
    PollMetrics(metrics.registry)
    PushMetrics(metrics.registry)
    metrics.registry.register(BehaviourCollector(dict, dict, dict))
    BundleActivation(
        Objects(Connection(None)), "", lambda: GateAnnouncement(BASE, ""), metrics.registry
    )
    RequiredDefinitions(Objects(Connection(None)), metrics.registry)
    Discovery(Objects(Connection(None)), metrics.registry)
    ApprovalEvents(Objects(Connection(None)), Exceptions(), BreakGlasses(), metrics.registry)
    SandboxCapacity(
        Objects(Connection(None)),
        "",
        (),
        lambda _: None,
        metrics.registry,
        CapacitySettings(30, 50),
    )
    objects = Objects(Connection(None))
    store = RiskStore(objects, "")
    RiskTables(objects, store, "", metrics.registry)
    channel = AuditorChannel("https://auditor", Path(), Path(), Path())
    Behaviours(BehaviourClient(channel, ""), store, metrics.registry)
    EgressMetrics(metrics.registry)
    CertificateStatus(objects, "", metrics.registry)
    return metrics.registry


def _metrics() -> Iterator[str]:
    for family in sorted(registry().collect(), key=lambda family: family.name):
        if family.name.startswith("sallyport"):
            suffix = "_total" if family.type == "counter" else ""
            yield f"| `{family.name}{suffix}` | {family.type} | {family.documentation} |"


def _rules() -> Iterator[str]:
    for rule, modules in find_rule_ids().items():
        yield f"| `{rule}` | {', '.join(f'`{module}`' for module in modules)} |\n"


def page() -> str:
    """Return the page's text."""
    return "".join(
        (
            _INTRO,
            "| Name | Meaning |\n| --- | --- |\n",
            "\n".join(_attributes()),
            "\n\n## Settings\nFlag, then environment, then the YAML file of `--config`.\n\n",
            "| Setting | Environment | Default | Meaning |\n| --- | --- | --- | --- |\n",
            "\n".join(_settings(Settings)),
            "\n\n## Metrics\n| Metric | Type | Meaning |\n| --- | --- | --- |\n",
            "\n".join(_metrics()),
            "\n",
            _FORMATS,
            _RULES,
            *_rules(),
        )
    )


def main() -> int:
    """Write the page, or with --check say whether it is stale."""
    text = page()
    if "--check" in sys.argv:
        stale = not PAGE.exists() or PAGE.read_text() != text
        if stale:
            print(f"{PAGE} is stale: make docs")
        return int(stale)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
