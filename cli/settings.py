"""All settings of a process, read once: flag, then `SALLYPORT_…`, then a YAML file.

`__` stands between levels in the environment: `SALLYPORT_STATUS__PORT=9081`.
`docs/reference/names.md` lists them, made from this module. A default that a room has is
taken from the room.
"""

from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from cli.settings_errors import explain, name_setting, refuse_unknown_variables, unreadable_variable
from cli.settings_file import read_file
from core.errors import SettingsError
from core.namespaces import Mode
from kube.settings import LiveSettings
from policies.engine.embedded import Limits
from webhooks.app import AppSettings
from webhooks.server import ServerSettings

_STRICT = ConfigDict(extra="forbid", frozen=True)

_SERVER: Final = ServerSettings()
_LIVE: Final = LiveSettings()
_LIMITS: Final = Limits()
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
    max_body_bytes: int = Field(
        AppSettings().max_body_bytes,
        ge=1024,
        description="Largest review; both objects travel in an update.",
    )
    max_held_bytes: int = Field(
        AppSettings().max_held_bytes,
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
        _LIVE.allow_age_s,
        ge=0,
        le=300,
        description="Seconds that a yes is believed: a right taken away ends.",
    )
    deny_age: float = Field(
        _LIVE.deny_age_s,
        ge=0,
        le=60,
        description="Seconds that a no is believed: a right given begins.",
    )
    timeout: float = Field(
        _LIVE.review_timeout_s, gt=0, le=10, description="Seconds for one access review."
    )


class Evaluation(BaseModel):
    """What one evaluation of the policies may take."""

    model_config = _STRICT
    seconds: float = Field(_LIMITS.seconds, gt=0, le=5, description="Wall time.")
    memory_mib: int = Field(
        _LIMITS.memory_bytes // MIB,
        ge=8,
        le=1024,
        description="Memory of the policies, not of the gate.",
    )


class Settings(BaseSettings):
    """Everything that can be set."""

    model_config = SettingsConfigDict(
        env_prefix="SALLYPORT_", env_nested_delimiter="__", extra="forbid", frozen=True
    )
    listen: Listen = Listen()
    status: Status = Status()
    access: Access = Access()
    evaluation: Evaluation = Evaluation()
    cluster: Path | None = Field(None, description="A folder of YAML that stands in for a cluster.")
    kubeconfig: Path | None = Field(None, description="Without it and `cluster`: in-cluster.")
    bundle: Path | None = Field(None, description="A policy bundle; without it the built-in one.")
    default_mode: Mode = Field(Mode.ENFORCE, description="For namespaces without the label.")
    max_staleness: float = Field(
        _LIVE.max_staleness_s,
        ge=5,
        le=3600,
        description="Seconds without the watches before nothing is judged.",
    )
    controllers: list[str] = Field(
        default_factory=list,
        description="User names of controllers beside Kubernetes' own; their own rights never "
        "count.",
    )
    log_format: Literal["json", "console"] = Field(
        "json", description="`console` is for a person at a terminal."
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
    refuse_unknown_variables(Settings.model_fields)
    given = {name: value for name, value in flags.items() if value not in (None, {})}
    try:
        settings = _with_file(read_file(file) if file else {})(**given)
    except ValidationError as error:
        raise SettingsError("; ".join(map(explain, error.errors()))) from error
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
