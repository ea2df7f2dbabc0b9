"""Looks at a cluster: asks for each part, and keeps what could be read."""

from collections.abc import Awaitable
from typing import Any, Final, TypeVar

import msgspec

from app.settings.root import Settings
from cli.preflight.cluster.authors import find_authors
from cli.preflight.cluster.model import (
    ClusterPreflight,
    ClusterSizes,
    PodAuthor,
    PreflightNotes,
    Severity,
)
from cli.preflight.cluster.other_webhooks import judge_azure_policy, judge_webhooks
from cli.preflight.cluster.pods import PodCounts, judge_pods
from cli.preflight.cluster.sizes import judge_sizes
from cli.preflight.cluster.system_namespaces import (
    ALWAYS_LEFT_OUT,
    engine_namespace,
    judge_namespaces,
)
from cli.preflight.cluster.tunnel import judge_sources
from cli.shared.supported_kubernetes import is_supported, supported_minors
from core.base.errors import SallyportError, SettingsError
from core.base.safe_text import join_some
from egress.analysis.network_doctor import AKS_LABEL, ClusterNetwork, NetworkReport, examine
from kube.client.objects import Objects, list_objects, open_objects
from kube.egress.network_facts import NetworkFacts, read_network_facts
from kube.resources.paths import ADMISSION_PATH, PODS_PATH

_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_SYSTEM: Final = "kube-system"
_AUTHORS: Final = 8
_SEVERITIES: Final = ("blocks", "warning", "note")

_T = TypeVar("_T")


class _Metadata(msgspec.Struct):
    name: str


class _Named(msgspec.Struct):
    metadata: _Metadata


async def look_at_cluster(settings: Settings) -> ClusterPreflight:
    """Look at the cluster that is named. Nothing is written.

    Raises:
        SettingsError: none is named, or its credentials are missing or broken.
        ClusterError: kube-apiserver does not answer at all.
    """
    if settings.cluster is not None or settings.kubeconfig is None:
        raise SettingsError("say which cluster is looked at: give --kubeconfig FILE")
    async with open_objects(settings.kubeconfig) as objects:
        return await _Look(objects, settings.namespace).whole()


class _Look:
    def __init__(self, objects: Objects, own_namespace: str) -> None:
        self._objects = objects
        self._own = own_namespace
        self._notes = PreflightNotes()

    async def whole(self) -> ClusterPreflight:
        """Look at all parts."""
        version = str(((await self._objects.get("/version")) or {}).get("gitVersion", ""))
        self._judge_version(version)
        facts = await self._try("the network", read_network_facts(self._objects))
        report = examine(facts) if facts is not None else None
        names = await self._try("namespaces", self._names("/api/v1/namespaces"))
        pods = await self._try("Pods", self._pods())
        is_on_azure = facts is not None and any(AKS_LABEL in n.labels for n in facts.nodes)
        if report is not None:
            self._judge_network(report)
            agents = pods.agents if pods is not None else None
            judge_sources(agents, self._notes, is_on_azure=is_on_azure)
        if names is not None:
            engine = _engine_namespace(facts, pods)
            judge_namespaces(names, self._own, engine, self._notes, is_on_azure=is_on_azure)
        if pods is not None:
            judge_pods(pods, self._left_out(), self._notes)
        sizes = None
        if facts is not None and names is not None and pods is not None:
            sizes = ClusterSizes(len(facts.nodes), pods.all.total(), len(names))
            judge_sizes(sizes, self._notes)
        await self._try("webhooks", self._webhooks())
        self._notes.find(
            "choices",
            "note",
            "the chart asks what becomes of new Pods when no gate can record a decision any more",
            "set record.whenFull to refuse or to admit",
            "record.md",
        )
        authors, users = await self._try("roles and bindings", self._authors()) or ([], 0)
        self._judge_authors(authors, users)
        return ClusterPreflight(
            kubernetes=version,
            network=report.network if report else "",
            sizes=sizes,
            findings=sorted(
                self._notes.findings, key=lambda each: _SEVERITIES.index(each.severity)
            ),
            unknown=self._notes.unknown,
            authors=authors,
            users=users,
            values={"defaultMode": "audit", **self._notes.values},
        )

    async def _try(self, what: str, asked: Awaitable[_T]) -> _T | None:
        try:
            return await asked
        except SallyportError as error:
            self._notes.unknown.append(f"{what}: {error}")
            return None

    def _judge_version(self, version: str) -> None:
        if is_supported(version):
            return
        minors = supported_minors()
        self._notes.find(
            "kubernetes",
            "blocks",
            f"Kubernetes {version} is none of those that this release knows, {minors[0]} to "
            f"{minors[-1]}",
            "sallyport preflight says which fields are not known; take the release for it",
            "upgrade.md#before-kubernetes-is-upgraded",
        )

    def _judge_network(self, report: NetworkReport) -> None:
        if not report.network:
            self._notes.find(
                "network",
                "warning",
                "no engine of network policies was seen: nothing closes the gate's port, and no "
                "egress can be closed",
                "install one, or have kube-apiserver show a certificate (gate.clientCaConfigMap)",
                "certificates.md#who-may-ask-the-gate",
            )
        for each in report.problems:
            severity: Severity = "warning" if each.is_error else "note"
            fix = "sallyport egress doctor has the whole report"
            self._notes.find("network", severity, f"{each.setting}: {each.why}", fix, "egress.md")
        if report.values:
            self._notes.values["egress"] = report.values

    def _left_out(self) -> set[str]:
        named = self._notes.values.get("webhooks", {}).get("excludedNamespaces", [])
        return {*ALWAYS_LEFT_OUT, self._own, *named}

    async def _names(self, path: str) -> list[str]:
        found: list[str] = []
        token = ""
        while True:
            page = await self._objects.page(path, 500, token, metadata_only=True)
            found += (msgspec.json.decode(each, type=_Named).metadata.name for each in page.items)
            token = page.continue_token
            if not token:
                return found

    async def _pods(self) -> PodCounts:
        counts = PodCounts()
        async for raw in list_objects(self._objects, PODS_PATH):
            counts.take(raw)
        return counts

    async def _webhooks(self) -> None:
        mutating = await self._all(f"{ADMISSION_PATH}/mutatingwebhookconfigurations")
        validating = await self._all(f"{ADMISSION_PATH}/validatingwebhookconfigurations")
        judge_webhooks(mutating, validating, self._own, self._notes)
        names = await self._names(f"/apis/apps/v1/namespaces/{_SYSTEM}/deployments")
        judge_azure_policy(names, self._notes)

    async def _authors(self) -> tuple[list[PodAuthor], int]:
        roles = [*await self._all(f"{_RBAC}/roles"), *await self._all(f"{_RBAC}/clusterroles")]
        bindings = [
            *await self._all(f"{_RBAC}/rolebindings"),
            *await self._all(f"{_RBAC}/clusterrolebindings"),
        ]
        return find_authors(roles, bindings)

    def _judge_authors(self, authors: list[PodAuthor], users: int) -> None:
        if not authors and not users:
            return
        shown = [_who(each) for each in authors]
        named = join_some(shown, _AUTHORS)
        self._notes.find(
            "lockout",
            "note",
            f"who may create Pods or workloads: {named or 'no group or account'}; users that a "
            f"binding names: {users}",
            "everyone may use pss-restricted; give those who need more a profile before their "
            "namespaces enforce",
            "profiles.md",
        )

    async def _all(self, path: str) -> list[dict[str, Any]]:
        return [msgspec.json.decode(raw) async for raw in list_objects(self._objects, path)]


def _engine_namespace(facts: NetworkFacts | None, pods: PodCounts | None) -> str:
    if facts is None or pods is None:
        return ""
    return engine_namespace(ClusterNetwork(facts).engines, pods)


def _who(author: PodAuthor) -> str:
    name = f"{author.namespace}/{author.name}" if author.namespace else author.name
    kind = "group" if author.kind == "Group" else "account"
    return f"{kind} {name}"
