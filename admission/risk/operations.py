"""The class of operation that a request is, by which the risk table has columns. Pure."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from admission.objects.reader import changes_rights, is_connect_or_credential, is_debug
from core.approvals import approvals, break_glass, exceptions
from core.base import names
from core.base.json_errors import DECODE_ERRORS
from core.decision.request import Operation, Request
from core.egress import allowlists
from core.risk.model import OperationClass
from core.weights import access_grants, stores

_OF_KINDS: Final[Mapping[str, OperationClass]] = {
    exceptions.KIND: OperationClass.ASK,
    allowlists.KIND: OperationClass.ASK,
    allowlists.SET_KIND: OperationClass.ASK,
    **dict.fromkeys(approvals.APPROVES, OperationClass.APPROVE),
    break_glass.KIND: OperationClass.BREAK_GLASS,
    approvals.PROFILE: OperationClass.CHANGE_RIGHTS,
    access_grants.KIND: OperationClass.ASK,
    stores.KIND: OperationClass.CHANGE_RIGHTS,
}
"""Sallyport's own kinds."""


class _Specified(msgspec.Struct):
    spec: Any = None


def operation_of_object(request: Request) -> OperationClass:
    """Return the class of a request whose object carries privileges, or that enters what runs."""
    created = request.operation is Operation.CREATE and not request.subresource
    if created and request.kind.kind == "Pod" and not request.kind.group:
        return OperationClass.CREATE_WORKLOAD  # Nearly every request.
    if request.operation is Operation.CONNECT or is_debug(request):
        return OperationClass.EXEC
    if changes_rights(request):
        return OperationClass.CHANGE_RIGHTS
    if is_connect_or_credential(request):
        return OperationClass.MAKE_CREDENTIALS
    return OperationClass.CREATE_WORKLOAD


def operation_of_own_kind(request: Request) -> OperationClass | None:
    """Return the class of a request for a Sallyport object; None where it changes nothing."""
    found = _OF_KINDS.get(request.kind.kind) if request.kind.group == names.GROUP else None
    return found if found is not None and _changes(request) else None


def _changes(request: Request) -> bool:
    """Return whether a request changes what an object says; what cannot be read might."""
    if request.operation is not Operation.UPDATE or request.old_object is None:
        return True
    try:
        old, new = (
            msgspec.json.decode(raw or b"", type=_Specified).spec
            for raw in (request.old_object, request.object)
        )
    except DECODE_ERRORS:
        return True
    return bool(old != new)
