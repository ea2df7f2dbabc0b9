"""The sections `record`, `spool`, `shipping`, `receive` and `ledger`: where records go."""

from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, SecretStr, model_validator

from app.settings.section import Section
from audit.ledger.records.refusal_budget import PER_MINUTE
from core.decision.decision import WhenUnrecorded
from webhooks.limits import ServerSettings

_SERVER: Final = ServerSettings()
_MIB: Final = 1024 * 1024


class RecordSection(Section):
    """How decisions are recorded."""

    when_full: WhenUnrecorded = Field(
        WhenUnrecorded.REFUSE,
        description="When decisions cannot be recorded: `refuse`, or `admit` and count. For "
        "namespaces without the label `sallyport.dev/when-unrecorded`.",
    )
    other_gates: bool = Field(
        default=False,
        description="Other gates answer behind the same address: what would be admitted and cannot "
        "be recorded here is passed on once (503, `Retry-After: 0`), so that kube-apiserver asks "
        "another, before `when_full` decides.",
    )
    lines: bool = Field(
        default=False,
        description="Write whole decision documents to standard output, a line each.",
    )
    refusals_per_minute: int = Field(
        PER_MINUTE,
        ge=1,
        le=10_000,
        description="Refusals of a requester in a namespace that are kept each minute by each gate;"
        " of the rest one of each kind, and counts.",
    )
    people: Literal["pseudonym", "name"] = Field(
        "pseudonym", description="What is kept of a person: a pseudonym, or the user name."
    )


class SpoolSection(Section):
    """Where decisions wait on this machine until the auditor has them."""

    folder: Path | None = Field(None, description="Without it decisions are logged only.")
    max_bytes: int = Field(
        1024 * _MIB, ge=64 * _MIB, description="The most that waits; beyond it `record.when_full`."
    )


class ShippingSection(Section):
    """How decisions reach the auditor, over mutual TLS."""

    url: str | None = Field(None, description="The auditor: `https://host:port`.")
    ca: Path | None = Field(None, description="CA (PEM) of the auditor's certificate.")
    cert: Path | None = Field(None, description="Client certificate (PEM).")
    key: Path | None = Field(None, description="Its private key (PEM).")
    token: Path | None = Field(
        None,
        description="A gate's projected service account token for the audience "
        "`sallyport-auditor`: it proves which Pod sends.",
    )


class ReceiveSection(Section):
    """Where the auditor takes decisions, over mutual TLS."""

    host: str = Field(_SERVER.host, description="Address; 0.0.0.0 in a Pod.")
    port: int = Field(9444, ge=0, le=65535, description="Port; 0 takes any that is free.")
    cert: Path | None = Field(None, description="Serving certificate (PEM), with its chain.")
    key: Path | None = Field(None, description="Its private key (PEM).")
    client_ca: Path | None = Field(None, description="CA (PEM) of the clients' certificates.")
    instances: Literal["require", "check", "off"] = Field(
        "off",
        description="Whether gates must prove which Pod they are, by their token (TokenReview) or "
        "a certificate of their own: `require` sets aside decisions without proof, `check` takes "
        "them (while gates of an earlier release ship), `off` asks nobody.",
    )
    gate_account: str = Field(
        "sallyport-system/sallyport-gate",
        pattern="^[a-z0-9-]+/[a-z0-9.-]+$",
        description="The gates' service account, `NAMESPACE/NAME`.",
    )


class ExplainSection(Section):
    """Where people ask the auditor for their own decisions, by a token of the cluster."""

    url: str | None = Field(
        None, description="For `sallyport explain ID`: the auditor, `https://host:port`."
    )
    ca: Path | None = Field(
        None, description="CA (PEM) of its certificate; without it those that the system trusts."
    )
    host: str = Field(_SERVER.host, description="Of the auditor: address; 0.0.0.0 in a Pod.")
    port: int | None = Field(
        None, ge=0, le=65535, description="Of the auditor: port; without one nobody is answered."
    )


class AnchorPlace(Section):
    """One place. Whoever can write the ledger must not be able to change what is in it."""

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
    witness: Annotated[str, Field(pattern=r"^https://\S+$", max_length=1024)] | None = Field(
        None,
        description="`https://HOST`, a witness (C2SP tlog-witness): it cosigns a head only if that "
        "continues the last one it cosigned.",
    )
    witness_key: Annotated[str, Field(max_length=512)] | None = Field(
        None, description="Its public key, as `ledger witness --vkey` prints it."
    )
    trust: Path | None = Field(
        None, description="CA (PEM) of the witness's certificate; without it the public ones."
    )
    cosigned: Path | None = Field(
        None,
        description="A file for the last checkpoint that the witness cosigned, for `ledger verify "
        "--cosigned`.",
    )

    @model_validator(mode="after")
    def _is_one_place(self) -> Self:
        places = (self.file, self.blob, self.config_map, self.witness)
        if sum(place is not None for place in places) != 1:
            raise ValueError("give one of file, blob, config_map and witness")
        if (self.witness is None) != (self.witness_key is None):
            raise ValueError("witness needs witness_key, and no other place does")
        if self.witness is None and (self.trust or self.cosigned):
            raise ValueError("trust and cosigned are of witness alone")
        if (self.config_map is None) != (self.kubeconfig is None):
            raise ValueError("config_map needs kubeconfig, and no other place does")
        return self


class TimestampSection(Section):
    """An authority that timestamps heads (RFC 3161)."""

    url: Annotated[str, Field(pattern=r"^https?://\S+$", max_length=1024)] = Field(
        description="Of the authority; its replies are signed, so that HTTP will do."
    )
    ca: Path = Field(description="Certificates (PEM) that the authority's own is of.")
    file: Path = Field(
        description="Where timestamps are kept, a line each; it is only appended to."
    )
    policy: Annotated[str, Field(pattern=r"^([0-9]+(\.[0-9]+)+)?$", max_length=128)] = Field(
        "", description="The policy that it must follow, an OID; empty for any."
    )
    every_s: float = Field(
        3600.0, ge=60.0, le=86_400.0, description="How often a head is timestamped at most."
    )


class LedgerSection(Section):
    """The database of decisions."""

    url: SecretStr | None = Field(
        None,
        description="`sqlite:///PATH` or `postgresql://…`; without it the ledger of "
        "`sallyport run`.",
    )
    sign_in: Literal["url", "entra"] = Field(
        "url",
        description="The password of PostgreSQL: that of the URL (or of libpq's variables), or "
        "`entra`: a token of Entra ID for each new connection, as `identity` says.",
    )
    keep_days: int = Field(90, ge=1, le=3650, description="Whole days (UTC) that are kept.")
    max_refusal_mib: int = Field(
        8192,
        ge=64,
        le=1_048_576,
        description="MiB of refusals that are kept; beyond it those of the largest share of a "
        "namespace and requester go first. Nothing else goes by size.",
    )
    max_mib: int | None = Field(
        None,
        ge=128,
        le=104_857_600,
        description="MiB that the whole ledger may take; beyond it refusals go, those of the "
        "largest share first, and nothing else; refusals of a tenth of it stay. Without it SQLite "
        "may take 85 % of what its file system has, and PostgreSQL has no bound.",
    )
    compress: bool = Field(
        default=False,
        description="Store documents of decisions compressed, in a quarter of their room. Releases "
        "before this one cannot read them: switch it on once none is to be gone back to.",
    )
    hold: list[Annotated[str, Field(max_length=63)]] = Field(
        default_factory=list,
        description="Namespaces under hold: none of their refusals goes by size.",
    )
    signing_key: Path | None = Field(
        None,
        description="Private key (PEM, Ed25519) that signs the log's heads; without it "
        "`ledger.key` in the state folder, which is made where there is none.",
    )
    head_every_s: float = Field(
        60.0, ge=1.0, le=3600.0, description="How often a head of the log is signed and anchored."
    )
    timestamp: TimestampSection | None = Field(
        None, description="Has heads timestamped by an authority (RFC 3161); without it none are."
    )
    anchors: list[AnchorPlace] = Field(
        default_factory=list,
        description="Where heads are kept out of the ledger's reach, as `file`, `blob`, "
        "`config_map` or `witness`: without any the ledger can be written anew by whoever has "
        "its key.",
    )
