"""An object that is registered with kube-apiserver: as the chart says it, and as it is."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS
from kube.resources.paths import ADMISSION_PATH

CONFIGMAP: Final = "sallyport-registrations"
"""What the chart says lies in it, a JSON list of objects."""

PROBE: Final = "sallyport-probe"

_PLURALS: Final = {
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}

PROBE_PATH: Final = f"{ADMISSION_PATH}/{_PLURALS['ValidatingWebhookConfiguration']}/{PROBE}"

Json = dict[str, Any]


@dataclass(frozen=True)
class Registration:
    """One object."""

    wanted: Json
    live: Json | None = None
    problem: str = ""
    """Why it cannot be read."""

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.wanted["kind"])

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.wanted["metadata"]["name"])

    @property
    def collection(self) -> str:
        """Where its kind lies."""
        return f"{ADMISSION_PATH}/{_PLURALS[self.kind]}"

    @property
    def path(self) -> str:
        """Where it lies."""
        return f"{self.collection}/{self.name}"

    @property
    def asks(self) -> bool:
        """Whether kube-apiserver asks a gate by it about what people do.

        Then a gate must answer before it is registered.
        """
        return bool(self.wanted.get("webhooks")) and self.name != PROBE

    @property
    def unregistered(self) -> bool:
        """Whether it is there, and asks nothing yet."""
        return self.asks and self.live is not None and not self.live.get("webhooks")

    @property
    def digest(self) -> str:
        """Tells the webhooks that are wanted from those of another release."""
        said = msgspec.json.encode(self.wanted.get("webhooks"), order="deterministic")
        return hashlib.sha256(said).hexdigest()[:16]

    @property
    def was_written(self) -> bool:
        """Whether control wrote these webhooks before: what differs is somebody else's change."""
        annotations = ((self.live or {}).get("metadata") or {}).get("annotations") or {}
        return self.asks and bool(annotations.get(names.REGISTERED_ANNOTATION) == self.digest)


def read_registrations(
    configmap: Mapping[str, Any], release: str = ""
) -> tuple[Registration, ...] | None:
    """Read what the chart of a release, or of whichever it is, says; None where it is of another.

    Raises:
        InvalidObjectError: it is no list of the objects that are registered.
    """
    data = configmap.get("data") or {}
    key = f"objects-{release}.json" if release else next(iter(data), "")
    if key not in data and any(each.startswith("objects-") for each in data):
        return None
    try:
        found = tuple(map(Registration, msgspec.json.decode(data.get(key, ""), type=list[Json])))
        for each in found:
            _ = each.name, each.collection
    except (*DECODE_ERRORS, KeyError, TypeError):
        raise InvalidObjectError(
            f"ConfigMap {CONFIGMAP}", key, "is no list of registrations: run helm upgrade"
        ) from None
    return found
