"""A small client for kube-apiserver that speaks plain JSON, as any of its users."""

import asyncio
import enum
import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

import aiohttp
import yaml
from multidict import CIMultiDict

from network.connector import Connector
from tests.harness.programs.apiserver import ADMIN, ApiServer

Json = dict[str, Any]
"""An object as JSON says it."""

CONNECTIONS: Final = 8
TIMEOUT_S: Final = 60.0
POLL_S: Final = 0.1
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
FIELD_MANAGER: Final = "sallyport-tests"
EVERYBODY: Final = ("system:authenticated",)


class ApiStatusError(Exception):
    """kube-apiserver answered with a failure; `status` is the HTTP code."""

    def __init__(self, method: str, path: str, status: int, message: str) -> None:
        self.status = status
        self.message = message
        super().__init__(f"{method} {path}: {status} {message}")


class Outcome(enum.Enum):
    """What became of a request to create or change an object."""

    ALLOWED = "allowed"
    DENIED = "denied"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Answer:
    """An outcome, the server's message (empty when allowed) and the body as it came."""

    outcome: Outcome
    message: str
    body: Json


@dataclass(frozen=True, slots=True)
class _Resource:
    """Where the objects of a kind live; `root` is `/api/v1` or `/apis/<group>/<version>`."""

    root: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None, name: str | None) -> str:
        parts = [self.root]
        if self.namespaced:
            parts += ["namespaces", namespace or "default"]
        parts.append(self.plural)
        return "/".join([*parts, name] if name else parts)


def read_objects(path: Path) -> list[Json]:
    """Return the objects of a YAML file, as `Client.apply` takes them."""
    return [item for item in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader) if item]


class _Options(TypedDict, total=False):
    """What `Client.request` takes by name."""

    parameters: Mapping[str, str]
    content_type: str


@asynccontextmanager
async def connect(server: ApiServer, user: str = ADMIN.name) -> AsyncIterator["Client"]:
    """Yield a client of `server` as one of its users, over at most 8 connections."""
    async with aiohttp.ClientSession(
        server.url,
        connector=Connector(server.ssl_context, CONNECTIONS),
        timeout=aiohttp.ClientTimeout(TIMEOUT_S),
    ) as session:
        yield Client(session, {"Authorization": f"Bearer {server.user(user).token}"})


class Client:
    """Requests to one server as one user. Made by `connect`."""

    def __init__(self, session: aiohttp.ClientSession, headers: Mapping[str, str]) -> None:
        self._session = session
        self._headers = CIMultiDict(headers)
        self._resources: dict[tuple[str, str], _Resource] = {}
        self.warnings: list[str] = []
        """The `Warning` headers of all answers so far."""

    def with_token(self, token: str) -> "Client":
        """Return a client that is whoever a bearer token says. It shares the connections."""
        other = Client(self._session, {"Authorization": f"Bearer {token}"})
        other._resources = self._resources
        return other

    def as_user(self, name: str, groups: Iterable[str] = EVERYBODY, *, oid: str = "") -> "Client":
        """Return a client on the same connections that impersonates a user in these groups only."""
        other = Client(self._session, self._headers)
        other._resources = self._resources
        other._headers["Impersonate-User"] = name
        for group in groups:
            other._headers.add("Impersonate-Group", group)
        other._headers.update({"Impersonate-Extra-Oid": oid} if oid else {})
        return other

    async def request(
        self,
        method: str,
        path: str,
        body: Json | list[Json] | str | None = None,
        *,
        parameters: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> tuple[int, Json]:
        """Send one request, compact (aiohttp warns of 1 MB); return status and JSON body.

        A body that is text is sent as it is.
        """
        text = body if isinstance(body, str | None) else json.dumps(body, separators=(",", ":"))
        headers = self._headers.copy()
        headers["Content-Type"] = content_type
        async with self._session.request(
            method,
            path,
            params=parameters,
            headers=headers,
            data=text,
        ) as response:
            answer = await response.text()
            self.warnings += response.headers.getall("Warning", ())
            if response.content_type == "application/json":
                return response.status, json.loads(answer)
            return response.status, {"message": answer}

    async def get(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
    ) -> Json:
        """Return an object; raise ApiStatusError (404 and such)."""
        resource = await self._resource(api_version, kind)
        return await self._succeed("GET", resource.path(namespace, name))

    async def create(self, item: Json) -> Json:
        """Create an object and return it as stored; raise ApiStatusError."""
        return await self._succeed("POST", await self._path(item, named=False), item)

    async def patch(self, item: Json, patch: Json) -> Json:
        """Merge `patch` into the object that `item` names; raise ApiStatusError."""
        return await self._succeed(
            "PATCH",
            await self._path(item),
            patch,
            content_type="application/merge-patch+json",
        )

    async def ask_to_replace(self, item: Json, **parameters: str) -> tuple[int, Json]:
        """Put an object where it is, whatever became of it since it was read.

        Return status and JSON body. Without a version no controller that writes meanwhile is in
        the way (409); kube-apiserver takes that for its own kinds alone. `parameters` are further
        ones of the request, such as `dryRun="All"`.
        """
        metadata = {key: each for key, each in item["metadata"].items() if key != "resourceVersion"}
        path = await self._path(item)
        return await self.request("PUT", path, item | {"metadata": metadata}, parameters=parameters)

    async def delete(self, item: Json) -> None:
        """Delete the object that `item` names, at once; raise ApiStatusError."""
        path = await self._path(item)
        await self._succeed("DELETE", path, parameters={"gracePeriodSeconds": "0"})

    async def apply(self, items: Iterable[Json], **parameters: str) -> None:
        """Apply objects in their order (server-side apply, forced); raise ApiStatusError.

        `parameters` are further ones of the request, such as `dryRun="All"`.
        """
        for item in items:
            await self._succeed(
                "PATCH",
                await self._path(item),
                item,
                parameters={"fieldManager": FIELD_MANAGER, "force": "true", **parameters},
                content_type=APPLY_PATCH,
            )

    async def create_namespace(self, name: str, labels: Mapping[str, str] | None = None) -> None:
        """Make sure of a namespace and its `default` service account, which every Pod needs."""
        metadata = {"name": name, "labels": dict(labels or {})}
        await self.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}])
        await self.create_service_account("default", name)

    async def create_service_account(self, name: str, namespace: str) -> None:
        """Make sure of a service account."""
        metadata = {"name": name, "namespace": namespace}
        await self.apply([{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}])

    async def wait_until_can(self, verb: str, resource: Mapping[str, str]) -> None:
        """Return once this user may do `verb`: RBAC follows changes with a delay.

        `resource` holds what a SelfSubjectAccessReview's `resourceAttributes` does, such as
        `{"group": "sallyport.dev", "resource": "containerprofiles", "name": "p"}`.
        """
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        body: Json = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"verb": verb, **resource}},
        }
        deadline = time.monotonic() + TIMEOUT_S
        while not (await self._succeed("POST", path, body))["status"]["allowed"]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"not allowed to {verb} {resource} after {TIMEOUT_S:g} s")
            await asyncio.sleep(POLL_S)

    async def wait_for_kind(self, api_version: str, kind: str) -> None:
        """Return once the server serves a kind whose CustomResourceDefinition was applied."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            try:
                await self._resource(api_version, kind)
            except ApiStatusError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(POLL_S)
            else:
                return

    async def wait_until_gone(self, path: str) -> None:
        """Return once nothing is served at a path: what is deleted may have to be emptied first."""
        deadline = time.monotonic() + TIMEOUT_S
        while (await self.request("GET", path))[0] != HTTPStatus.NOT_FOUND:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{path} is there still after {TIMEOUT_S:g} s")
            await asyncio.sleep(POLL_S)

    async def create_token(
        self, service_account: str, namespace: str, pod: str = "", audience: str = ""
    ) -> str:
        """Return a new token of a service account, good for an hour.

        With `pod` it is bound to that Pod of the namespace, as kubelet asks for it.
        """
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token"
        spec: Json = {"audiences": [audience]} if audience else {}
        if pod:
            uid = (await self.get("v1", "Pod", pod, namespace))["metadata"]["uid"]
            spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid}
        body: Json = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": spec,
        }
        return str((await self._succeed("POST", path, body))["status"]["token"])

    async def dry_run_create(self, pod: Json, namespace: str) -> Answer:
        """Ask what would become of creating a Pod; nothing is stored."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        return await self._ask("POST", path, pod)

    async def dry_run(self, item: Json) -> Answer:
        """Ask what would become of creating an object of any kind; nothing is stored."""
        return await self._ask("POST", await self._path(item, named=False), item)

    async def dry_run_ephemeral_containers(
        self, name: str, namespace: str, containers: list[Json]
    ) -> Answer:
        """Ask what would become of adding ephemeral containers to a Pod that exists."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/ephemeralcontainers"
        patch: Json = {"spec": {"ephemeralContainers": containers}}
        return await self._ask("PATCH", path, patch, STRATEGIC_MERGE_PATCH)

    async def _ask(
        self, method: str, path: str, body: Json, content_type: str = "application/json"
    ) -> Answer:
        status, answer = await self.request(
            method, path, body, parameters={"dryRun": "All"}, content_type=content_type
        )
        if status in {HTTPStatus.OK, HTTPStatus.CREATED}:
            return Answer(Outcome.ALLOWED, "", answer)
        message = str(answer.get("message", answer))
        if status == HTTPStatus.FORBIDDEN:
            return Answer(Outcome.DENIED, message, answer)
        if status in {HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.BAD_REQUEST}:
            return Answer(Outcome.INVALID, message, answer)
        raise ApiStatusError(method, path, status, message)

    async def _succeed(
        self, method: str, path: str, body: Json | None = None, **options: Unpack[_Options]
    ) -> Json:
        status, answer = await self.request(method, path, body, **options)
        if status >= HTTPStatus.BAD_REQUEST:
            raise ApiStatusError(method, path, status, str(answer.get("message", answer)))
        return answer

    async def _path(self, item: Json, *, named: bool = True) -> str:
        resource = await self._resource(item["apiVersion"], item["kind"])
        metadata = item["metadata"]
        return resource.path(metadata.get("namespace"), metadata["name"] if named else None)

    async def _resource(self, api_version: str, kind: str) -> _Resource:
        """Look a kind up in the server's discovery, remembering what it says."""
        key = (api_version, kind)
        if key not in self._resources:
            root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
            listed = await self._succeed("GET", root)
            self._resources |= {
                (api_version, each["kind"]): _Resource(root, each["name"], each["namespaced"])
                for each in listed["resources"]
                if "/" not in each["name"]
            }
        if key not in self._resources:
            raise ApiStatusError("GET", api_version, HTTPStatus.NOT_FOUND, f"no kind {kind}")
        return self._resources[key]
