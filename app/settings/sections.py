"""The sections of the settings that are small, one class for each."""

from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from core.decision.decision import WhenUnrecorded
from kube.client.settings import LiveSettings
from policies.engine.cache import MOST_ENTRIES
from policies.engine.embedded_engine import EvaluationLimits
from sandbox.compatibility import Kind
from sandbox.runtime_choice import HANDLERS, NEW_ACCOUNT_HOURS, THRESHOLD
from webhooks.limits import AppSettings, ServerSettings


class AnchorPlace(BaseModel):
    """One place. Whoever can write the ledger must not be able to change what is in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    file: Path | None = Field(
        None, description="A file on another host's mount that can only be appended to."
    )
    blob: Annotated[str, Field(pattern=r"^https://\S+$", max_length=1024)] | None = Field(
        None,
        description="`https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX`: append blobs under "
        "an immutability policy that allows protected append writes. Signs in as `identity` says.",
    )
    config_map: (
        Annotated[str, Field(pattern=r"^[a-z0-9-]+/[a-z0-9.-]+$", max_length=320)] | None
    ) = Field(
        None,
        description="`NAMESPACE/NAME` in another cluster, of `kubeconfig`: the last heads alone, "
        "so that a bad record is known only to lie between two of them.",
    )
    kubeconfig: Path | None = Field(None, description="Of the cluster of `config_map`.")

    @model_validator(mode="after")
    def _is_one_place(self) -> Self:
        places = (self.file, self.blob, self.config_map)
        if sum(place is not None for place in places) != 1:
            raise ValueError("give one of file, blob and config_map")
        if (self.config_map is None) != (self.kubeconfig is None):
            raise ValueError("config_map needs kubeconfig, and no other place does")
        return self


class Opa(BaseModel):
    """The OPA server that evaluates the policies, where one does."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: str = Field(
        "",
        description="`http://HOST:PORT`, `https://HOST:PORT`, or `unix:///PATH/OF/SOCKET`. "
        "Proxies of the environment are not used.",
    )
    push: bool = Field(
        default=True,
        description="Put the policies there; otherwise the server must load the bundle itself.",
    )
    token_file: Path | None = Field(
        None, description="Bearer token for it; read anew for each request."
    )
    ca_file: Path | None = Field(
        None, description="CA (PEM) of its certificate; without it the machine's."
    )


_STRICT = ConfigDict(extra="forbid", frozen=True)

LIVE: Final = LiveSettings()
_LIMITS: Final = EvaluationLimits()
_SERVER: Final = ServerSettings()
_APP: Final = AppSettings()
MIB: Final = 1024 * 1024


class Listen(BaseModel):
    """Where kube-apiserver reaches the webhooks, over TLS."""

    model_config = _STRICT
    host: str = Field(_SERVER.host, description="Address; 0.0.0.0 in a Pod.")
    port: int = Field(_SERVER.port, ge=0, le=65535, description="Port; 0 takes any that is free.")
    cert: Path | None = Field(None, description="Serving certificate (PEM), with its chain.")
    key: Path | None = Field(None, description="Its private key (PEM).")
    client_ca: Path | None = Field(
        None, description="Demand a client certificate of this CA (PEM) from kube-apiserver."
    )
    client_names: list[str] = Field(
        default_factory=list,
        description="Whom such a certificate must name (CN or SAN); without any, whomever the CA "
        "vouches for.",
    )
    max_body_bytes: int = Field(
        _APP.max_body_bytes,
        ge=1024,
        description="Largest review; both objects travel in an update.",
    )
    max_held_bytes: int = Field(
        _APP.max_held_bytes,
        ge=1024 * 1024,
        description="Bodies of all reviews being read or judged; beyond it 503 and try again.",
    )
    drain_seconds: float = Field(
        _SERVER.drain_seconds,
        ge=0,
        le=120,
        description="After SIGTERM: how long to go on answering new requests.",
    )


class Status(BaseModel):
    """Where `/livez`, `/readyz` and `/metrics` are served, in the clear."""

    model_config = _STRICT
    host: str = Field(_SERVER.status_host, description="Address; 0.0.0.0 in a Pod.")
    port: int = Field(
        _SERVER.status_port, ge=0, le=65535, description="Port; 0 takes any that is free."
    )


class Access(BaseModel):
    """How answers of access reviews are remembered."""

    model_config = _STRICT
    allow_age: float = Field(
        LIVE.allow_age_s,
        ge=0,
        le=300,
        description="Seconds that a yes is believed: a right taken away ends.",
    )
    deny_age: float = Field(
        LIVE.deny_age_s,
        ge=0,
        le=60,
        description="Seconds that a no is believed: a right given begins.",
    )
    timeout: float = Field(
        LIVE.review_timeout_s, gt=0, le=10, description="Seconds for one access review."
    )


class Evaluation(BaseModel):
    """What evaluates the policies, and what one evaluation may take."""

    model_config = _STRICT
    engine: Literal["embedded", "opa"] = Field(
        "embedded", description="`embedded` in this process, or `opa`: an OPA server."
    )
    opa: Opa = Opa()
    seconds: float = Field(_LIMITS.seconds, gt=0, le=5, description="Wall time.")
    memory_mib: int = Field(
        _LIMITS.memory_bytes // MIB,
        ge=8,
        le=1024,
        description="Memory of the policies, not of the gate.",
    )
    remembered: int = Field(
        MOST_ENTRIES,
        ge=0,
        le=65_536,
        description="Answers kept, so that a gang of Pods is evaluated once; 0 keeps none.",
    )


class Record(BaseModel):
    """How decisions are recorded."""

    model_config = _STRICT
    when_full: WhenUnrecorded = Field(
        WhenUnrecorded.REFUSE,
        description="When decisions cannot be recorded: `refuse`, or `admit` and count. For "
        "namespaces without the label `sallyport.dev/when-unrecorded`.",
    )
    lines: bool = Field(
        default=False,
        description="Write whole decision documents to standard output, a line each.",
    )
    people: Literal["pseudonym", "name"] = Field(
        "pseudonym", description="What is kept of a person: a pseudonym, or the user name."
    )


class Spool(BaseModel):
    """Where decisions wait on this machine until the auditor has them."""

    model_config = _STRICT
    folder: Path | None = Field(None, description="Without it decisions are logged only.")
    max_bytes: int = Field(
        1024 * MIB, ge=64 * MIB, description="The most that waits; beyond it `record.when_full`."
    )


class Shipping(BaseModel):
    """How decisions reach the auditor, over mutual TLS."""

    model_config = _STRICT
    url: str | None = Field(None, description="The auditor: `https://host:port`.")
    ca: Path | None = Field(None, description="CA (PEM) of the auditor's certificate.")
    cert: Path | None = Field(None, description="Client certificate (PEM).")
    key: Path | None = Field(None, description="Its private key (PEM).")


class Receive(BaseModel):
    """Where the auditor takes decisions, over mutual TLS."""

    model_config = _STRICT
    host: str = Field(_SERVER.host, description="Address; 0.0.0.0 in a Pod.")
    port: int = Field(9444, ge=0, le=65535, description="Port; 0 takes any that is free.")
    cert: Path | None = Field(None, description="Serving certificate (PEM), with its chain.")
    key: Path | None = Field(None, description="Its private key (PEM).")
    client_ca: Path | None = Field(None, description="CA (PEM) of the clients' certificates.")


class Ledger(BaseModel):
    """The database of decisions."""

    model_config = _STRICT
    url: SecretStr | None = Field(
        None,
        description="`sqlite:///PATH` or `postgresql+psycopg://…`; without it the ledger of "
        "`sallyport run`.",
    )
    keep_days: int = Field(90, ge=1, le=3650, description="Whole days (UTC) that are kept.")
    signing_key: Path | None = Field(
        None,
        description="Private key (PEM, Ed25519) that signs the log's heads; without it "
        "`ledger.key` in the state folder, which is made where there is none.",
    )
    head_every_s: float = Field(
        60.0, ge=1.0, le=3600.0, description="How often a head of the log is signed and anchored."
    )
    anchors: list[AnchorPlace] = Field(
        default_factory=list,
        description="Where heads are kept out of the ledger's reach, as `file`, `blob` or "
        "`config_map`: without any the ledger can be written anew by whoever has its key.",
    )


class Approvals(BaseModel):
    """What two people must approve beside exceptions and BreakGlasses."""

    model_config = _STRICT
    profiles: bool = Field(
        default=False,
        description="Creating or widening a ContainerProfile. The webhook `profiles.sallyport.dev` "
        "must be registered.",
    )


class Sandbox(BaseModel):
    """Which sandboxes there are. Profiles, namespaces and authors say when one is used."""

    model_config = _STRICT
    runtime: str = Field(
        "gvisor",
        pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$",
        max_length=253,
        description="The RuntimeClass of the sandbox.",
    )
    second: str = Field(
        "",
        pattern=r"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$",
        max_length=253,
        description="The RuntimeClass for what the first cannot run, if there is one.",
    )
    handlers: dict[str, Kind] = Field(
        dict(HANDLERS),
        description="Which sandbox each handler of the nodes' runtime starts, `gvisor` or `kata`; "
        "a RuntimeClass with another handler is none.",
    )
    threshold: int = Field(
        THRESHOLD, ge=1, le=1000, description="The score from which risk demands a sandbox."
    )
    points: dict[str, Annotated[int, Field(ge=0, le=1000)]] = Field(
        default_factory=dict,
        description="Points of rules that are not the built-in ones: `sandbox/code/notebook: 30`.",
    )
    gpu_label: str = Field(
        "",
        pattern=r"^([A-Za-z0-9./_-]+=[A-Za-z0-9._-]*)?$",
        description="`key=value`: nodes with this label have a GPU driver that gVisor knows. A "
        "RuntimeClass that selects it can run what asks for a GPU.",
    )
    new_account_hours: float = Field(
        NEW_ACCOUNT_HOURS,
        ge=0,
        le=8760,
        description="A service account younger than this counts as new.",
    )


class CapacitySection(BaseModel):
    """How often, and how fast, the nodes of the sandbox are looked at."""

    model_config = _STRICT
    interval: float = Field(
        30,
        ge=5,
        le=300,
        description="Seconds from the end of one look to the next.",
    )
    nodes_per_second: float = Field(
        50,
        ge=1,
        le=1000,
        description="The most that are looked at, with a request each. A look is cut off after "
        "`interval` times as many nodes; the others come next.",
    )


_CRD_NAME = Annotated[str, Field(pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)+$", max_length=253)]


class Discovery(BaseModel):
    """Kinds that nobody listed, by the names of their CustomResourceDefinitions."""

    model_config = _STRICT
    search: list[_CRD_NAME] = Field(
        default_factory=list,
        description="CustomResourceDefinitions (`widgets.example.com`) whose schema hides Pod "
        "templates: their objects are searched for something shaped like one.",
    )
    skip: list[_CRD_NAME] = Field(
        default_factory=list,
        description="CustomResourceDefinitions whose objects are left alone, whatever their schema "
        "says.",
    )


class SweepSection(BaseModel):
    """How often, and how fast, what runs is judged again."""

    model_config = _STRICT
    interval: float = Field(
        3600,
        ge=60,
        le=7 * 86400,
        description="Seconds from one sweep's beginning to the next's.",
    )
    pods_per_second: float = Field(500, ge=1, le=10_000, description="The most that are judged.")
