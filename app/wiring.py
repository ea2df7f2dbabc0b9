"""Builds the parts that processes and commands share from the settings: engine, cluster, judge."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from admission.approvals.approvals import Approve, ask_in_force
from admission.gather import Gatherer
from admission.judge import Judge, decision_ids_of, new_decision_id
from app.settings.egress import intent_settings_of
from app.settings.identity import IdentitySection
from app.settings.policies import MIB, EvaluationSection, OpaSection
from app.settings.rollout import RolloutSection
from app.settings.root import Settings
from app.settings.sandbox import SandboxSection
from core.base.errors import BundleRefusedError, NotSyncedError, SettingsError
from core.cluster import Cluster
from core.decision.namespaces import Mode, Modes, parse_moment
from core.people.two_person import (
    SHARED_ACCOUNTS,
    Approvable,
    ApprovalTerms,
    Approved,
    Consent,
    NotApproved,
)
from identity.risk.standings import Freshness, PeopleAtRisk
from identity.subjects import parse_controllers
from kube.client.settings import DefaultDeny
from kube.cluster.folder import FolderCluster, read_profiles
from policies import BUILT_IN_BUNDLE, SHIPPED_PROFILES
from policies.bundle.format import Bundle, read_bundle, wording_refusals
from policies.engine.cache import RememberingEngine
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from policies.engine.interface import Engine
from policies.engine.opa_endpoint import OpaServer
from sandbox.runtime_choice import SandboxSettings

ONLY_EMBEDDED: Final = (
    "replay and shadow evaluate in the embedded engine alone, so a bundle of 'policy build "
    "--engine opa' may call what there is not here"
)


def make_engine(
    bundle: Path | None,
    evaluation: EvaluationSection,
    observe: Callable[[float], None] = lambda _: None,
) -> RememberingEngine:
    """Load the bundle into the engine; `observe` gets the seconds of each evaluation.

    Raises:
        BundleRefusedError: it cannot be put in force.
    """
    return load_engine(read_bundle(bundle or BUILT_IN_BUNDLE), evaluation, observe)


def load_engine(
    bundle: Bundle, evaluation: EvaluationSection, observe: Callable[[float], None] = lambda _: None
) -> RememberingEngine:
    """Load a bundle that was read; `observe` gets the seconds of each evaluation.

    Raises:
        BundleRefusedError: it cannot be put in force.
        SettingsError: an OPA server is to evaluate it, and none is named.
    """
    limits = limits_of(evaluation)
    engine: Engine
    with wording_refusals():
        if evaluation.engine == "opa":
            from policies.clients.opa_server.engine import OpaServerEngine  # noqa: PLC0415 (slow)

            engine = OpaServerEngine(bundle, server_of(evaluation.opa), limits, observe)
        else:
            engine = EmbeddedEngine(bundle, limits, observe)
    return RememberingEngine(engine, evaluation.remembered)


def load_embedded(
    bundle: Bundle, evaluation: EvaluationSection, observe: Callable[[float], None] = lambda _: None
) -> RememberingEngine:
    """Load a bundle to be compared; `observe` gets the seconds of each evaluation.

    An OPA server is not asked: those that gates use would have to hold candidates too.

    Raises:
        BundleRefusedError: it cannot be loaded, or calls what only an OPA server has.
    """
    try:
        return load_engine(bundle, evaluation.model_copy(update={"engine": "embedded"}), observe)
    except BundleRefusedError as error:
        raise BundleRefusedError(f"{error}. Note: {ONLY_EMBEDDED}") from error


def limits_of(evaluation: EvaluationSection) -> EvaluationLimits:
    """Return what one evaluation may take."""
    return EvaluationLimits(seconds=evaluation.seconds, memory_bytes=evaluation.memory_mib * MIB)


def server_of(section: OpaSection) -> OpaServer:
    """Return the OPA server that the settings name.

    Raises:
        SettingsError: they name none.
    """
    return OpaServer(section.url, section.push, section.token_file, section.ca_file)


def terms_of(settings: Settings, cluster: Cluster) -> ApprovalTerms:
    """Return whose approvals never count or do not count now, and what needs them."""
    shared = frozenset(name.casefold() for name in settings.shared_accounts)
    return ApprovalTerms(
        SHARED_ACCOUNTS | shared,
        profiles=settings.approvals.profiles,
        at_risk=PeopleAtRisk(cluster.risk),
        suspends=settings.identity.suspend_exceptions,
    )


def make_approve(settings: Settings, cluster: Cluster) -> Approve:
    """Return what says whether an object of a kind is approved, as the gate would say it.

    It raises NotSyncedError where a gate would not be ready: before risk is read nobody seems to be
    at risk, and what is suspended would count.
    """
    terms = terms_of(settings, cluster)

    async def approve(
        what: Approvable, consents: Sequence[Consent], kind: str, now: float
    ) -> Approved | NotApproved:
        if missing := cluster.missing():
            raise NotSyncedError("; ".join(missing))
        return await ask_in_force(cluster, what, consents, kind, now, terms)

    return approve


def make_judge(cluster: Cluster, engine: Engine, settings: Settings) -> Judge:
    """Join cluster and engine into what answers reviews.

    Raises:
        SettingsError: points are set of a rule that there is not.
    """
    controllers = parse_controllers(settings.controllers)
    pipelines = frozenset(settings.pipelines)
    terms = terms_of(settings, cluster)
    sandbox_settings = _sandbox_settings(settings.sandbox, engine.rules)
    gatherer = Gatherer(
        cluster,
        engine,
        controllers,
        pipelines=pipelines,
        terms=terms,
        sandbox_settings=sandbox_settings,
        intent_settings=intent_settings_of(settings.egress, settings.namespace),
        freshness=_freshness(settings.identity),
        when_field_unknown=settings.when_field_unknown,
    )
    return Judge(
        gatherer,
        modes_of(settings.rollout, settings.default_mode),
        when_unrecorded=settings.record.when_full,
        new_id=decision_ids_of(settings.instance) if settings.instance else new_decision_id,
    )


def modes_of(rollout: RolloutSection, default: Mode) -> Modes:
    """Return which mode holds where; `default` is that of namespaces without the label."""
    return Modes(
        default=default,
        least=rollout.least,
        new=Mode(rollout.new) if rollout.new else None,
        new_since=parse_moment(rollout.new_since),
    )


def _freshness(section: IdentitySection) -> Freshness:
    """Return how old what is known of risk may be."""
    return Freshness(section.max_age, section.revoked_for, section.tenant)


def runtimes_of(sandbox: SandboxSection) -> tuple[str, ...]:
    """Return the site's RuntimeClasses, in the order of choice."""
    return tuple(filter(None, dict.fromkeys((sandbox.runtime, sandbox.second))))


def _sandbox_settings(sandbox: SandboxSection, rules: Collection[str]) -> SandboxSettings:
    for rule in sandbox.points:
        if rule not in rules:
            message = f"sandbox.points: there is no rule {rule}; docs/sandbox/signals.md has them"
            raise SettingsError(message)
    return SandboxSettings(
        runtimes_of(sandbox),
        sandbox.handlers,
        sandbox.threshold,
        sandbox.points,
        sandbox.gpu_label,
        sandbox.new_account_hours * 3600.0,
    )


@asynccontextmanager
async def open_cluster(
    settings: Settings, wait_s: float | None = None, default_deny: DefaultDeny | None = None
) -> AsyncIterator[Cluster]:
    """Yield the cluster that the settings name, started; stop it at the end.

    With `wait_s`, what must be loaded first is waited for so many seconds. With `default_deny`, it
    is watched which namespaces have that policy.

    Raises:
        NotSyncedError: it was waited for in vain.
    """
    if settings.cluster is not None:
        yield FolderCluster(settings.cluster, shipped=read_profiles([SHIPPED_PROFILES]))
        return
    from app.cluster.live import open_live  # noqa: PLC0415 (a folder needs no Kubernetes client)

    async with open_live(settings, default_deny) as cluster:
        if wait_s is not None:
            await cluster.wait(wait_s)
        yield cluster
