"""The exceptions that the rooms of Sallyport share, in one tree. This module imports nothing.

A refusal is not an exception: it is a `core.decision.decision.Decision`. What is raised here
means that something could not be done, and each message says what happened, to what,
and what to do about it. An exception that only one folder and its callers know is in that folder.

    SallyportError
    ├── SettingsError        a setting is wrong or missing
    ├── InvalidReviewError         the caller sent something that is no AdmissionReview
    │   └── ReviewTooLargeError    … or too much of it
    ├── InvalidObjectError         an object does not have the shape its kind demands
    ├── BundleRefusedError         a policy bundle cannot be put in force
    │   └── BundleNotGivenError    … because its registry did not give it
    ├── RegistryAwayError          a registry of policy bundles does not answer now
    ├── PolicyError                compiled policies cannot be loaded, or failed
    ├── CannotBindError            a certificate or an address cannot be used to listen
    ├── LedgerError                the ledger did not take, or did not give, what was asked
    ├── UnreadableRecordError      a record of a log is none, or none that can be read
    ├── SourceError                a log's source did not give what was asked
    ├── ReportError                a report cannot be made in the form that was asked for
    ├── ClusterError               kube-apiserver did not answer, or answered with a failure
    ├── EntraError                 Entra ID or Graph did not give what was asked
    ├── DnsLogError                the log of a DNS server cannot be read
    │   └── DnsLogEndedError       … because its connection is gone
    ├── NotLeaderError             what only the leader may do was begun by one who is not
    └── CannotJudgeError           a review cannot be decided; always ends in a refusal
        ├── EvaluationError        … because the policies failed on it
        │   └── EngineAwayError    … because what evaluates them is not there
        ├── AccessReviewError      … because the cluster did not say who may do what
        ├── OwnerUnknownError      … because the cluster did not say what owns the object
        ├── PodUnknownError        … because the cluster did not give the Pod that is entered
        ├── RoleUnknownError       … because the cluster did not give the role that is bound
        ├── NamespaceMarkError     … because the namespace says something that cannot be read
        ├── NotSyncedError         … because what a watch brings is missing or too old
        ├── DeadlineError          … because the caller's time ran out
        ├── OverloadError          … because too much of its namespace waits already
        └── NotRecordedError       … because the decision could not be recorded
            └── OverShareError     … because its author has had its share of the room
"""


class SallyportError(Exception):
    """The root: catch this to catch all that Sallyport raises on purpose."""


class SettingsError(SallyportError):
    """A setting is wrong or missing; the message names the setting and the fix."""


class InvalidReviewError(SallyportError):
    """A request body is no AdmissionReview that can be answered (HTTP 4xx)."""

    status = 400


class ReviewTooLargeError(InvalidReviewError):
    """A request body is larger than any review that kube-apiserver sends."""

    status = 413


_LONGEST = 2048
"""Characters of a field's path, and of what is wrong with it."""


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


class InvalidObjectError(SallyportError):
    """An object does not have the shape that its kind demands.

    `field` is the path from the object's root, empty where the whole object is meant. Both it and
    the problem may quote what a stranger wrote, of any length: they are cut here.
    """

    def __init__(self, what: str, field: str, problem: str) -> None:
        self.what = what
        self.field = field = _cut(field)
        self.problem = problem = _cut(problem)
        super().__init__(f"{what}: {field}: {problem}" if field else f"{what}: {problem}")


class BundleRefusedError(SallyportError):
    """A policy bundle cannot be put in force; the message says where and why."""


class BundleNotGivenError(BundleRefusedError):
    """A registry did not give what was asked for; another time, or to another user, it may."""


class RegistryAwayError(SallyportError):
    """A registry does not answer now, so that nothing is known of the bundle in it."""


class PolicyError(SallyportError):
    """Compiled policies cannot be loaded, or failed; what they were evaluated on is not quoted."""


class CannotBindError(SallyportError):
    """A certificate, key or address cannot be used to listen."""


class ReportError(SallyportError):
    """A report cannot be made in the form that was asked for; the message says what to do."""


class ClusterError(SallyportError):
    """kube-apiserver did not answer (`status` is 0), or answered with the HTTP `status`.

    With 410 to a list, `continue_token` goes on at the same place, in the cluster as it is now.
    """

    def __init__(self, message: str, status: int = 0, continue_token: str = "") -> None:
        self.status = status
        self.continue_token = continue_token
        super().__init__(message)


class EntraError(SallyportError):
    """Entra ID or Graph did not give what was asked; nothing that it wrote is quoted.

    `kind` is the value of the label `result` of the metric `sallyport_risk_requests_total`.
    `retry_after_s` is what it asked to wait, 0 where it said nothing.
    """

    def __init__(self, message: str, kind: str, retry_after_s: float = 0.0) -> None:
        self.kind = kind
        self.retry_after_s = retry_after_s
        super().__init__(message)


class NotLeaderError(SallyportError):
    """This process does not lead (any more): what only the leader may do must not go on."""


class LedgerError(SallyportError):
    """The ledger did not take, or did not give, what was asked; the message says what to do."""


class UnreadableRecordError(SallyportError):
    """A record of a log is none, or none that can be read: it goes to quarantine.

    `field` is the path of what is wrong, empty where all of it is. Nothing of the record is quoted.
    """

    def __init__(self, reason: str, field: str = "") -> None:
        self.reason = reason
        self.field = field
        super().__init__(f"{field}: {reason}" if field else reason)


class SourceError(SallyportError):
    """A log's source did not give what was asked; nothing that it wrote is quoted.

    `retry_after_s` is what it asked to wait, 0 where it said nothing.
    """

    def __init__(self, message: str, retry_after_s: float = 0.0) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class CannotJudgeError(SallyportError):
    """A review cannot be decided. Never a denial, never silence: it ends in a refusal.

    `kind` is the value of the label `kind` of the metric `sallyport_errors_total`.
    """

    kind = "unknown"


class EvaluationError(CannotJudgeError):
    """The policies failed, took too long or took too much memory on this input."""

    kind = "evaluation"


class EngineAwayError(EvaluationError):
    """What evaluates the policies cannot be reached, or does not have them."""

    kind = "engine-away"


class AccessReviewError(CannotJudgeError):
    """The cluster did not answer who may do what."""

    kind = "access-review"


class OwnerUnknownError(CannotJudgeError):
    """The cluster did not say what owns an object, so nobody knows who asked for it."""

    kind = "owner"


class PodUnknownError(CannotJudgeError):
    """The cluster did not give the Pod that somebody enters, so nobody knows what it needs."""

    kind = "pod"


class RoleUnknownError(CannotJudgeError):
    """The cluster did not give the role that somebody binds, so nobody knows what it gives."""

    kind = "role"


class NamespaceMarkError(CannotJudgeError):
    """A label or annotation of the namespace cannot be read; the message names it and the fix."""

    kind = "namespace"


class DnsLogError(SallyportError):
    """The log of a DNS server cannot be read: nothing is learnt by it, and names are asked for."""


class DnsLogEndedError(DnsLogError):
    """The connection of the log is gone: CoreDNS ends a log that it cannot write."""


class NotSyncedError(CannotJudgeError):
    """What a watch brings is not there yet, or is too old to decide by."""

    kind = "not-synced"


class DeadlineError(CannotJudgeError):
    """The time that kube-apiserver gave for the review ran out."""

    kind = "deadline"


class OverloadError(CannotJudgeError):
    """Too much of the same namespace waits already."""

    kind = "overload"


class NotRecordedError(CannotJudgeError):
    """The decision could not be recorded: the spool is full, or its disk is."""

    kind = "not-recorded"


class OverShareError(NotRecordedError):
    """A requester has had its share of a spool that fills: no other gate is asked for it."""
