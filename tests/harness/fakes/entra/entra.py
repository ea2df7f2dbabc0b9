"""A fake Entra ID: token endpoint and Microsoft Graph, two real HTTPS servers on loopback.

It keeps the protocol, the paging, the limit of one request a second for all clients together (429
without Retry-After) and the errors. What it knows is set by `put_…`, what goes wrong by `fail`.
It runs in a thread of its own, so that neither a test nor a process that it starts waits for it.

    entra = FakeEntra(folder)
    entra.start()
    entra.put_user(oid, level="high", state="atRisk")
    poller = RiskPolling(store, entra.poller_settings(), …)
    …
    assert entra.violations == 0
    entra.stop()
"""

import ssl
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from control.risk.poll.loop import PollSettings
from core.risk.model import ApplicationKind
from identity.clients.graph import GraphSettings
from identity.clients.tokens import CredentialKind, SignIn
from identity.entra.graph_requests import PollIntervals, Resource
from tests.harness.fakes.entra.directory import Directory, Record, canaries_of, written
from tests.harness.fakes.entra.servers import Asked, Fault, GraphServer, TokenServer
from tests.harness.fakes.entra.sign_in import SignInDesk
from tests.harness.fakes.loop_thread import LoopThread
from tests.harness.programs.pki import Authority

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


__all__ = ["LICENCES", "PERMISSIONS", "FakeEntra", "Fault"]

PERMISSIONS: Final = frozenset(each.permission for each in Resource)
LICENCES: Final = frozenset(each.licence for each in Resource if each.licence)


class FakeEntra(FakeTenant):
    """One tenant with one application, as which the poller signs in."""

    def __init__(self, folder: Path, authority: Authority | None = None) -> None:
        """Take a folder for files: CA, token, certificate, secret."""
        super().__init__()
        self.client_id = str(uuid.uuid4())
        self.permissions = set(PERMISSIONS)
        """Granted ones; what a token may do is settled when it is issued."""
        self.licences = set(LICENCES)
        self._pki = authority or Authority(folder)
        self._pair = self._pki.issue_loopback_server("entra")
        self.desk = SignInDesk(self.tenant, self.client_id, folder)
        self._graph = GraphServer(self)
        self._tokens = TokenServer(self)
        self._loop = LoopThread()
        self._runners: list[web.AppRunner] = []
        self._ports = [0, 0]

    # Running it.

    def start(self) -> "FakeEntra":
        """Start both servers."""
        self.desk.prepare(self.now())
        self._loop.start()
        self._loop.run(self._serve())
        return self

    def stop(self) -> None:
        """Stop for good."""
        self._loop.run(self._cease())
        self._loop.stop()

    def down(self) -> None:
        """Refuse connections until `up`."""
        self._loop.run(self._cease())

    def up(self) -> None:
        """Serve again, on the same ports."""
        self._loop.run(self._serve())

    @property
    def authority(self) -> str:
        """The site of the token endpoint."""
        return f"https://localhost:{self._ports[0]}"

    @property
    def site(self) -> str:
        """The site of Graph."""
        return f"https://localhost:{self._ports[1]}"

    @property
    def trust(self) -> Path:
        """The CA of both."""
        return self._pki.certificate_path

    def poller_settings(
        self,
        kind: CredentialKind = CredentialKind.FEDERATED,
        *,
        guests: bool = False,
        **times: float,
    ) -> PollSettings:
        """Return settings for the poller; `times` are fields of `PollIntervals`."""
        files = {
            CredentialKind.FEDERATED: self.desk.token_file,
            CredentialKind.CERTIFICATE: self.desk.certificate_file,
            CredentialKind.SECRET: self.desk.secret_file,
        }
        sign_in = SignIn(
            self.tenant,
            self.client_id,
            kind,
            files[kind],
            allow_secret=kind is CredentialKind.SECRET,
            authority=self.authority,
            trust=self.trust,
        )
        graph = GraphSettings(self.site, self.trust)
        return PollSettings(sign_in, graph, replace(PollIntervals(), **times), guests)

    # What it was asked.

    @property
    def requests(self) -> list[Asked]:
        """All requests to Graph, in their order."""
        return list(self._graph.asked)

    @property
    def token_requests(self) -> int:
        """Requests for tokens."""
        return self._tokens.count

    @property
    def violations(self) -> int:
        """Requests to Graph that came less than a second after the one before."""
        return self._graph.violations

    def count(self, resource: Resource) -> int:
        """Return the requests for one resource."""
        return Counter(each.resource for each in self.requests)[resource]

    # What goes wrong.

    def fail(self, fault: Fault, resource: Resource | None = None, times: int = 1) -> None:
        """Let the next requests (for a resource, or any) fail; `times` 0 until `heal`."""
        self._graph.faults.append([fault, resource, times])

    def fail_sign_in(self, error: str, code: int, status: int = 400) -> None:
        """Let the token endpoint refuse until `heal`, with an OAuth error and an AADSTS code."""
        self._tokens.refusing = (error, code, status)

    def name_token_endpoint(self, address: str) -> None:
        """Let the description of the authority name another token endpoint."""
        self._tokens.endpoint = address

    def heal(self) -> None:
        """Let nothing fail any more; permissions and licences are as before the first change."""
        self._graph.faults.clear()
        self._tokens.refusing = None
        self.permissions, self.licences = set(PERMISSIONS), set(LICENCES)
        self.directory.unfiltered.clear()

    def expire_tokens(self) -> None:
        """End the life of every token that was issued."""
        for each in self.desk.issued.values():
            each.until = 0.0

    async def _serve(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._pair.certificate, self._pair.key)
        handlers: list[Callable[[web.Request], Any]] = [self._tokens.handle, self._graph.handle]
        for number, handle in enumerate(handlers):
            app = web.Application()
            app.router.add_route("*", "/{path:.*}", handle)
            runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
            await runner.setup()
            port = self._ports[number]
            site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=context, reuse_address=True)
            await site.start()
            self._ports[number] = runner.addresses[0][1]
            self._runners.append(runner)

    async def _cease(self) -> None:
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()
