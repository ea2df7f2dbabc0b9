"""What the fake Entra is told of its tenant's identities."""

import time
import uuid
from typing import Any, Final

from core.risk.model import ApplicationKind
from identity.entra.graph_requests import Resource
from tests.harness.fakes.entra.directory import Directory, Record, canaries_of, written

_KINDS: Final = {
    ApplicationKind.APPLICATION: "Application",
    ApplicationKind.MANAGED_IDENTITY: "ManagedIdentity",
    ApplicationKind.FOREIGN: "Application",
}


class FakeTenant:
    """One tenant."""

    def __init__(self) -> None:
        self.tenant = str(uuid.uuid4())
        self.clock_offset = 0.0
        """Seconds by which Entra's clock is ahead of this machine's."""
        self.directory = Directory()

    def now(self) -> float:
        """Return Entra's time."""
        return time.time() + self.clock_offset

    def put_user(
        self,
        object_id: str,
        *,
        level: str = "none",
        state: str = "none",
        updated: float | str | None = None,
        deleted: bool = False,
        **fields: Any,
    ) -> None:
        """Set a risky user, as of now unless `updated` says otherwise (seconds, or text)."""
        self._put(
            Resource.USERS,
            object_id,
            {
                "isDeleted": deleted,
                "riskLevel": level,
                "riskState": state,
                "riskLastUpdatedDateTime": self._time(updated),
                **canaries_of(object_id),
                **fields,
            },
        )

    def put_service_principal(
        self,
        object_id: str,
        client_id: str,
        *,
        level: str = "none",
        state: str = "none",
        updated: float | str | None = None,
        **fields: Any,
    ) -> None:
        """Set a risky service principal."""
        self._put(
            Resource.SERVICE_PRINCIPALS,
            object_id,
            {
                "appId": client_id,
                "riskLevel": level,
                "riskState": state,
                "riskLastUpdatedDateTime": self._time(updated),
                "displayName": canaries_of(object_id)["userDisplayName"],
                **fields,
            },
        )

    def put_detection(  # noqa: PLR0913  Each is a field.
        self,
        event_id: str,
        object_id: str,
        *,
        kind: str = "unfamiliarFeatures",
        state: str = "atRisk",
        activity: float | str | None = None,
        detected: float | str | None = None,
        of_user: bool = True,
    ) -> None:
        """Set a detection of a user, or of a service principal."""
        resource = Resource.USER_EVENTS if of_user else Resource.SERVICE_PRINCIPAL_EVENTS
        self._put(
            resource,
            event_id,
            {
                "userId" if of_user else "servicePrincipalId": object_id,
                "riskEventType": kind,
                "riskState": state,
                "activityDateTime": self._time(activity),
                "detectedDateTime": self._time(detected),
                **canaries_of(object_id),
            },
        )

    def put_application(
        self,
        client_id: str,
        object_id: str,
        kind: ApplicationKind = ApplicationKind.APPLICATION,
        *,
        owner: str | None = None,
    ) -> None:
        """Set what a client id stands for; `owner` is the tenant of its app registration."""
        foreign = kind is ApplicationKind.FOREIGN
        self._put(
            Resource.APPLICATIONS,
            object_id,
            {
                "appId": client_id,
                "servicePrincipalType": _KINDS[kind],
                "appOwnerOrganizationId": owner or (str(uuid.uuid4()) if foreign else self.tenant),
                "displayName": canaries_of(object_id)["userDisplayName"],
            },
        )

    def put_guest(self, object_id: str) -> None:
        """Set a user who is a guest."""
        self._put(Resource.GUESTS, object_id, {"userType": "Guest", **canaries_of(object_id)})

    def remove(self, resource: Resource, object_id: str) -> None:
        """Take an object away."""
        self.directory.objects[resource].pop(object_id, None)

    def _put(self, resource: Resource, object_id: str, record: Record) -> None:
        # One assignment, and nothing iterates while it is made: the servers sort a copy.
        objects = dict(self.directory.objects[resource])
        objects[object_id] = {"id": object_id, **record}
        self.directory.objects[resource] = objects

    def _time(self, at: float | str | None) -> str:
        if isinstance(at, str):
            return at
        return written(self.now() if at is None else at)
