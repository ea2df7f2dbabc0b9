"""The commands of docs/operate/chart.md, "Remove", done as they are written there."""

import argparse
import asyncio
import shlex
import time
from http import HTTPStatus
from typing import Final

from tests.harness.evidence import ROOT
from tests.harness.programs.client import Client

PAGE: Final = ROOT / "docs" / "operate" / "chart.md"
_TIMEOUT_S: Final = 120.0


def written_commands() -> list[list[str]]:
    """Return the words of each command, in their order."""
    section = PAGE.read_text().partition("\n## Remove\n")[2].partition("\n## ")[0]
    lines = section.replace("\\\n", " ").splitlines()
    found = (shlex.split(each, comments=True) for each in lines if each.startswith("    "))
    return [words for words in found if words]


async def kubectl_delete(client: Client, *words: str) -> list[str]:
    """Do what `kubectl delete` does: delete, and wait for the end of each; give their paths."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("resource")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--selector")
    parser.add_argument("--all-namespaces", action="store_true")
    asked = parser.parse_args(words)
    collection = await _collection(client, asked.resource)
    paths = [f"{collection}/{each}" for each in asked.names]
    if asked.selector:
        assert asked.all_namespaces, "in which namespaces?"
        paths = await _selected(client, collection, asked.selector)
    for path in paths:
        status, answer = await client.request("DELETE", path)
        assert status in {HTTPStatus.OK, HTTPStatus.ACCEPTED}, answer
    for path in paths:
        await gone(client, path)
    return paths


async def gone(client: Client, path: str) -> None:
    """Return once there is nothing at a path any more."""
    deadline = time.monotonic() + _TIMEOUT_S
    while (found := await client.request("GET", path))[0] != HTTPStatus.NOT_FOUND:
        assert time.monotonic() < deadline, f"{path} is still there: {found[1].get('status')}"
        await asyncio.sleep(0.2)


async def _selected(client: Client, collection: str, selector: str) -> list[str]:
    """Return the paths of a resource's objects that a selector takes."""
    parameters = {"labelSelector": selector}
    _, found = await client.request("GET", collection, parameters=parameters)
    root, _, resource = collection.rpartition("/")
    marks = [each["metadata"] for each in found["items"]]
    return [f"{root}/namespaces/{each['namespace']}/{resource}/{each['name']}" for each in marks]


async def _collection(client: Client, resource: str) -> str:
    """Return the path of all objects of a resource, named as kubectl takes it."""
    _, groups = await client.request("GET", "/apis")
    versions = [f"/apis/{each['preferredVersion']['groupVersion']}" for each in groups["groups"]]
    for root in ("/api/v1", *versions):
        _, listed = await client.request("GET", root)
        for each in listed["resources"]:
            if resource in {each["name"], each["singularName"]}:
                return f"{root}/{each['name']}"
    raise AssertionError(f"kube-apiserver has no {resource}")
