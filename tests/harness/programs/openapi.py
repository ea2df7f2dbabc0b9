"""The OpenAPI v3 documents that a kube-apiserver serves of its kinds."""

import json

from tests.harness.programs.client import Client, Json


async def document_urls(client: Client) -> dict[str, str]:
    """Return where the OpenAPI of each version of each group is, by its path."""
    index = await read_document(client, "/openapi/v3")
    return {path: found["serverRelativeURL"] for path, found in index["paths"].items()}


async def read_document(client: Client, url: str) -> Json:
    """Return one document."""
    status, answer = await client.request("GET", url)
    assert status == 200, answer
    # kube-apiserver calls these documents plain text.
    read: Json = json.loads(answer["message"]) if answer.keys() == {"message"} else answer
    return read
