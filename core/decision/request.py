"""One request for admission, whoever brings it: kube-apiserver or a file."""

import enum
from collections.abc import Callable
from typing import Final

import msgspec

from core.decision.namespaces import Namespace
from core.kubernetes.pod import Pod
from core.people.subject import Subject


class Operation(enum.Enum):
    """What is being done to the object (k8s.io/api/admission/v1 Operation)."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


WRITES: Final = frozenset({Operation.CREATE, Operation.UPDATE})
"""Operations that give an object that is to be stored."""


class Phase(enum.Enum):
    """Which of kube-apiserver's two passes a review is of."""

    MUTATING = "mutating"
    """On the way to the final state: what the gate records is not there yet."""
    VALIDATING = "validating"
    """The final state, as it will be stored."""


class Kind(msgspec.Struct, frozen=True, gc=False):
    """Group, version and kind of an object; the core group is empty."""

    kind: str
    version: str
    group: str = ""

    @property
    def api_version(self) -> str:
        """The kind's `apiVersion`, as manifests write it."""
        return f"{self.group}/{self.version}" if self.group else self.version


_ENTRIES: Final = {
    "PodExecOptions": "Exec into Pod",
    "PodAttachOptions": "Attach to Pod",
    "PodPortForwardOptions": "Port forward to Pod",
    "PodProxyOptions": "Proxy to Pod",
    "ServiceProxyOptions": "Proxy to Service",
    "NodeProxyOptions": "Proxy to node",
}
"""What a person calls the kinds that are only the options of a connection."""


class DecodedPod(msgspec.Struct, frozen=True, gc=False):
    """A Pod that was read together with its review: to look for its end first takes as long."""

    pod: Pod
    json: Callable[[], msgspec.Raw]
    """Finds its JSON in the review, for who wants it after all."""
    spec: Callable[[], msgspec.Raw]
    """Finds the JSON of its `spec` there, in one pass over the review."""


class Request(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What is asked. Objects stay JSON until a check wants them, typed; but see `DecodedPod`."""

    uid: str
    kind: Kind
    operation: Operation
    subject: Subject
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    submitted: msgspec.Raw | DecodedPod | None = None
    old_object: msgspec.Raw | None = None
    value_count: int = 0
    """About how many values the whole review holds, where it is large; else 0."""
    dry_run: bool = False
    running: bool = False
    """The object runs already, and nothing says who made it (the sweep)."""
    phase: Phase | None = None
    """None where no kube-apiserver asks: a file, or what runs."""
    authenticated: bool = False
    """Whether the caller that brings the review proved to be kube-apiserver."""
    by_accounts: bool = False
    """Nobody says who submits it: the service accounts of its Pods count (a file that is read)."""
    asked_profile: str | None = None
    """Judge by this profile alone, whoever asks (`sallyport review --profile`)."""
    is_filled: bool = False
    """Of a file: what a Pod leaves out stays absent, since all defaults are filled in already."""
    ids_of: Namespace | None = None
    """Whose IDs count where no namespace has a say (`sallyport profile check`)."""

    @property
    def object(self) -> msgspec.Raw | None:
        """The object as JSON."""
        return self.submitted.json() if isinstance(self.submitted, DecodedPod) else self.submitted

    @property
    def tells_all(self) -> bool:
        """Whether who is answered may read all of the decision.

        A review can be sent by everyone who reaches the port; a file is read by its reader.
        """
        return self.authenticated or self.phase is None

    @property
    def what(self) -> str:
        """Name the object for a person: `Pod train/llama-0`."""
        name = self.name or "(unnamed)"
        place = f"{self.namespace}/{name}" if self.namespace else name
        return f"{_ENTRIES.get(self.kind.kind, self.kind.kind)} {place}"
