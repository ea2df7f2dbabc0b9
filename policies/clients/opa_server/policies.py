"""How a bundle's policies come to an OPA server, and how an answer proves that it is theirs.

Put there, they are one module, whose package is of their revision: the answer names the revision,
and no other gate's policies are ever part of it. Served, the server has loaded the bundle itself,
and says with each answer, of the same transaction, which revision it answered from
(https://www.openpolicyagent.org/docs/rest-api#provenance).
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from core.base.errors import BundleRefusedError, EngineAwayError
from core.base.json_errors import DECODE_ERRORS
from policies.bundle.format import JUDGE, NEEDS, Bundle
from policies.clients.opa_server.connection import OpaConnection
from policies.engine.single_module import (
    ASKED,
    PUSHED_AT,
    ROOT_PREFIX,
    SingleModule,
    build_single_module,
)

MOST_ROOTS: Final = 4
"""Revisions that a server keeps of those put there: what is in force, what comes, what went."""

_MOST_TOLD: Final = 5
_ROOTS: Final = f"at := data[root].{PUSHED_AT}"


class PoliciesLostError(Exception):
    """What answered were not these policies: the server has to get them again.

    The message says what answered.
    """


class ServerPolicies(Protocol):
    """A bundle's policies on a server."""

    @property
    def path(self) -> Mapping[str, str]:
        """Of what to evaluate, by entry point."""

    async def place(self, connection: OpaConnection) -> None:
        """See to it that the server has them.

        Raises:
            BundleRefusedError: the server does not take them.
            EngineAwayError: the server is not there, or has others.
        """

    def read(self, body: bytes) -> msgspec.Raw | None:
        """Return the value of an answer; None where it is undefined.

        Raises:
            PoliciesLostError: it is no answer of this revision.
            EngineAwayError: it is no answer of OPA's.
        """

    def shown(self, location: Mapping[str, Any]) -> str:
        """Return the place in the bundle of a place that the server named."""


class _PolicyQuery(msgspec.Struct):
    revision: str
    answers: list[msgspec.Raw]


class _PushedAnswer(msgspec.Struct):
    result: _PolicyQuery | None = None


class _ServedBundle(msgspec.Struct):
    revision: str = ""


class _Provenance(msgspec.Struct):
    bundles: dict[str, _ServedBundle] = {}


class _ServedAnswer(msgspec.Struct):
    provenance: _Provenance
    result: msgspec.Raw = msgspec.Raw()


_PUSHED: Final = msgspec.json.Decoder(_PushedAnswer)
_SERVED: Final = msgspec.json.Decoder(_ServedAnswer)


class PushedPolicies:
    """Policies that are put there, as one module, in one step."""

    def __init__(self, bundle: Bundle) -> None:
        """Make the module.

        Raises:
            BundleRefusedError: something in the bundle cannot be carried over.
        """
        self._bundle = bundle
        self._revision = bundle.revision
        self._merged = build_single_module(bundle)
        root = self._merged.root
        self.path = {entrypoint: f"{root}/{asked}" for entrypoint, asked in ASKED.items()}

    async def place(self, connection: OpaConnection) -> None:
        """See ServerPolicies.place."""
        merged = build_single_module(self._bundle, int(time.time()))
        if problems := await connection.put(merged.root, merged.text):
            told = "; ".join(self._told(each) for each in problems[:_MOST_TOLD])
            raise BundleRefusedError(f"the OPA server refuses the bundle: {told}")
        if found := _strays(await connection.module(merged.root), merged):
            await connection.remove(merged.root)
            raise BundleRefusedError(
                f"the bundle cannot be put on an OPA server: it would have the rule {found}; let "
                "the server load the bundle itself (evaluation.opa.push: false)"
            )
        await _leave_newest(connection, merged.root)

    def _told(self, problem: Mapping[str, Any]) -> str:
        return f"{self.shown(problem.get('location') or {})}: {problem.get('message')}"

    def read(self, body: bytes) -> msgspec.Raw | None:
        """See ServerPolicies.read."""
        try:
            asked = _PUSHED.decode(body).result
        except DECODE_ERRORS as error:
            raise _nonsense() from error
        if asked is None:
            raise PoliciesLostError("the OPA server does not have the policies")
        if asked.revision != self._revision:
            raise PoliciesLostError(
                f"the OPA server answered from the revision {asked.revision[:64]!r}"
            )
        return asked.answers[0] if asked.answers else None

    def shown(self, location: Mapping[str, Any]) -> str:
        """See ServerPolicies.shown."""
        row = location.get("row")
        return (self._merged.place(row) if isinstance(row, int) else "") or "place unknown"


class ServedPolicies:
    """Policies that the server loads itself; here is only looked whether they are the wanted."""

    def __init__(self, bundle: Bundle) -> None:
        self._revision = bundle.revision
        self.path = {NEEDS: NEEDS, JUDGE: JUDGE}

    async def place(self, connection: OpaConnection) -> None:
        """See Policies.place: nothing can be done but to ask."""
        answered = await connection.evaluate(NEEDS, b"{}", connection.timeout)
        try:
            self.read(answered.body)
        except PoliciesLostError as lost:
            raise EngineAwayError(
                f"{lost}, and {self._revision} is wanted: give it this bundle, or wait until it "
                "has loaded it"
            ) from lost

    def read(self, body: bytes) -> msgspec.Raw | None:
        """See ServerPolicies.read."""
        try:
            answer = _SERVED.decode(body)
        except DECODE_ERRORS as error:
            raise _nonsense() from error
        served = [each.revision for each in answer.provenance.bundles.values()]
        if self._revision not in served:
            shown = ", ".join(sorted(each[:64] for each in served)) or "no bundle"
            raise PoliciesLostError(f"the OPA server serves {shown}")
        return answer.result if bytes(answer.result) else None

    def shown(self, location: Mapping[str, Any]) -> str:
        """See ServerPolicies.shown."""
        return f"{location.get('file', '')}:{location.get('row', '')}"


def _nonsense() -> EngineAwayError:
    return EngineAwayError("what the OPA server answers is no answer of OPA's")


def _strays(module: Mapping[str, Any], merged: SingleModule) -> str:
    """Return a rule, as the server has read it, that is none of those it is meant to have.

    A rule that was not given a name of its own could add to another one of the same name.
    """
    own = {*ASKED.values(), PUSHED_AT}
    for rule in module.get("rules", ()):
        name = str(rule["head"]["ref"][0]["value"])
        if name not in own and not _begins(name, merged.prefix):
            return name
    return ""


def _begins(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and name[len(prefix) :][:1].isdigit()


async def _leave_newest(connection: OpaConnection, own: str) -> None:
    """Remove the oldest of what gates have put there; whoever still asks for it puts it again."""
    found = await connection.query(_ROOTS)
    for root in _oldest(found, own):
        await connection.remove(root)


def _oldest(found: Iterable[Mapping[str, Any]], own: str) -> Sequence[str]:
    roots = [
        (each["at"], each["root"])
        for each in found
        if str(each["root"]).startswith(ROOT_PREFIX) and each["root"] != own
    ]
    return [root for _, root in sorted(roots, reverse=True)[MOST_ROOTS - 1 :]]
