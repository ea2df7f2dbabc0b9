"""All settings of a process, read once: flag, then `SALLYPORT_…`, then a YAML file.

`__` stands between levels in the environment: `SALLYPORT_STATUS__PORT=9081`.
`docs/reference/names.md` lists them, made from this module.
"""

import difflib
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from app.settings.certificates import CertificatesSection
from app.settings.egress import EgressSection
from app.settings.identity import IdentitySection
from app.settings.listeners import ListenSection, StatusSection
from app.settings.messages import PREFIX, explain_problem, name_setting, unreadable_variable
from app.settings.notifications import NotificationsSection
from app.settings.policies import BundlesSection, EvaluationSection, ShadowSection
from app.settings.records import (
    ExplainSection,
    LedgerSection,
    ReceiveSection,
    RecordSection,
    ShippingSection,
    SpoolSection,
)
from app.settings.reviews import (
    LIVE,
    AccessSection,
    ApprovalsSection,
    DiscoverySection,
    SweepSection,
)
from app.settings.rollout import RolloutSection
from app.settings.sandbox import CapacitySection, SandboxSection
from app.settings.weights import WeightsSection
from core.base.errors import SettingsError
from core.decision.namespaces import Mode, WhenFieldUnknown
from kube.manifests.strict_yaml import YamlError, load_all

_ELSEWHERE: Final = frozenset({"HELM", "KAFKA", "OPA", "POSTGRES", "PROOF"})
"""Variables that are no settings: programs of builds and tests, and the size of `make proof`."""

_SERVICE_LINK: Final = re.compile(
    r"(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
"""Variables that kubelet sets in a Pod for a Service `sallyport…` of its namespace
(kubernetes/pkg/kubelet/envvars); beside them `…PORT=tcp://…`."""


def read_file(file: Path) -> dict[str, Any]:
    """Read the settings of a file; an empty one gives none.

    Raises:
        SettingsError: naming file and line of what is wrong.
    """
    documents = [value for value in _load(file) if value is not None]
    if len(documents) > 1:
        raise SettingsError(f"--config {file}: holds {len(documents)} documents; it must be one")
    settings = documents[0] if documents else {}
    if not isinstance(settings, dict) or not all(isinstance(key, str) for key in settings):
        raise SettingsError(f"--config {file}: must hold names and values of settings")
    return settings


def _load(file: Path) -> list[Any]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise SettingsError(f"--config {file}: there is no such file") from error
    except OSError as error:
        raise SettingsError(f"--config {file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"--config {file}: is not UTF-8: {error}") from error
    try:
        return [value for _, value in load_all(text)]
    except YamlError as error:
        line = f", line {error.line}" if error.line else ""
        raise SettingsError(f"--config {file}{line}: {error.problem}") from error


class Settings(BaseSettings):
    """Everything that can be set."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        validate_default=False,  # Sections were validated when they were made.
    )
    listen: ListenSection = ListenSection()
    status: StatusSection = StatusSection()
    access: AccessSection = AccessSection()
    evaluation: EvaluationSection = EvaluationSection()
    record: RecordSection = RecordSection()
    spool: SpoolSection = SpoolSection()
    shipping: ShippingSection = ShippingSection()
    receive: ReceiveSection = ReceiveSection()
    ledger: LedgerSection = LedgerSection()
    explain: ExplainSection = ExplainSection()
    sweep: SweepSection = SweepSection()
    discovery: DiscoverySection = DiscoverySection()
    approvals: ApprovalsSection = ApprovalsSection()
    sandbox: SandboxSection = SandboxSection()
    shadow: ShadowSection = ShadowSection()
    capacity: CapacitySection = CapacitySection()
    egress: EgressSection = EgressSection()
    identity: IdentitySection = IdentitySection()
    weights: WeightsSection = WeightsSection()
    notifications: NotificationsSection = NotificationsSection()
    certificates: CertificatesSection = CertificatesSection()
    cluster_id: str = Field(
        "",
        max_length=63,
        pattern="^[A-Za-z0-9._-]*$",
        description="Names this cluster in every record; without it the UID of kube-system.",
    )
    instance: str = Field(
        "",
        max_length=253,
        pattern="^[a-z0-9.-]*$",
        description="Name of the Pod that a gate runs in: its decisions carry it. The auditor "
        "takes them from that Pod alone (`receive.instances`).",
    )
    namespace: str = Field("sallyport-system", description="Where Sallyport itself is installed.")
    cluster: Path | None = Field(None, description="A folder of YAML that stands in for a cluster.")
    kubeconfig: Path | None = Field(None, description="Without it and `cluster`: in-cluster.")
    bundle: Path | None = Field(None, description="A policy bundle; without it the built-in one.")
    bundles: BundlesSection = BundlesSection()
    default_mode: Mode = Field(Mode.ENFORCE, description="For namespaces without the label.")
    when_field_unknown: WhenFieldUnknown = Field(
        WhenFieldUnknown.WARN,
        description="What becomes of an object with a field that this release does not know: "
        "`warn`, or `refuse`. For namespaces without the label `sallyport.dev/when-field-unknown`.",
    )
    rollout: RolloutSection = RolloutSection()
    max_staleness: float = Field(
        LIVE.max_staleness_s,
        ge=5,
        le=3600,
        description="Seconds without the watches before nothing is judged.",
    )
    pipelines: list[str] = Field(
        default_factory=list,
        description="User names of pipelines, service accounts among them: decisions name them as "
        "such.",
    )
    controllers: list[str] = Field(
        default_factory=list,
        description="Controllers beside Kubernetes' own, as `USER` or `USER=KIND.GROUP,…`: their "
        "own rights never count for what objects of these kinds own. Without kinds, those that "
        "the table of workloads gives to the user.",
    )
    shared_accounts: list[str] = Field(
        default_factory=list,
        description="User names of accounts that more than one person may hold: they cannot "
        "approve. Beside those of AKS's local accounts and of kubeadm.",
    )
    log_format: Literal["json", "console"] = Field(
        "json", description="`console` is for a person at a terminal."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info",
        description="The least level of lines that are logged; an ordinary decision is `info`.",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 (pydantic's signature)
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 (pydantic's signature)
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags first, then the environment; `read_settings` adds the file."""
        del settings_cls
        return (init_settings, env_settings)


def read_settings(file: Path | None, flags: dict[str, Any]) -> Settings:
    """Read all settings; flags that are None were not given.

    Raises:
        SettingsError: naming each wrong setting and what it must be.
    """
    _refuse_unknown_variables(Settings.model_fields)
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        settings = _with_file(read_file(file) if file else {})(**given)
    except ValidationError as error:
        raise SettingsError("; ".join(map(explain_problem, error.errors()))) from error
    except ValueError as error:  # of which pydantic-settings' own error is one
        raise SettingsError(unreadable_variable(error)) from error
    if settings.cluster and settings.kubeconfig:
        names = " and ".join(map(name_setting, ("cluster", "kubeconfig")))
        raise SettingsError(f"{names}: give one")
    return settings


def _with_file(values: dict[str, Any]) -> type[Settings]:
    class WithFile(Settings):
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *args: Any, **sources: Any
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            """Add the file's values, as what is asked last."""
            higher = super().settings_customise_sources(settings_cls, *args, **sources)
            return (*higher, InitSettingsSource(settings_cls, values))

    return WithFile


def _refuse_unknown_variables(known: Collection[str]) -> None:
    """Refuse variables that look like settings and are none: a slip would go unseen.

    Raises:
        SettingsError: naming each, and the setting that was probably meant.
    """
    names = {name.upper() for name in known}
    problems = [
        f"{variable}: there is no such setting{_meant(first, names)}"
        for variable, value in sorted(os.environ.items())
        if variable.upper().startswith(PREFIX)
        and (first := variable[len(PREFIX) :].upper().partition("__")[0]) not in names
        and first not in _ELSEWHERE
        and not _is_service_link(variable[len(PREFIX) :], value)
    ]
    if problems:
        raise SettingsError("; ".join(problems))


def _meant(first: str, names: Collection[str]) -> str:
    close = difflib.get_close_matches(first, names, n=1)
    return f"; did you mean {PREFIX}{close[0]}?" if close else ""


def _is_service_link(name: str, value: str) -> bool:
    if _SERVICE_LINK.fullmatch(name):
        return True
    return name.endswith("PORT") and value.startswith(("tcp://", "udp://", "sctp://"))
