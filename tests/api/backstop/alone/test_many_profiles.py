"""As many profiles are asked about as kube-apiserver pays for; beyond that it must not refuse."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from http import HTTPStatus

import pytest

from policies.backstop.policy import MOST_ASKED
from tests.api.backstop.alone.conftest import SPACE
from tests.api.backstop.installed_backstop import (
    GROUPS,
    MAP_PATH,
    SETTLE_S,
    comes_to,
    is_refusal,
    status_of,
)
from tests.harness.programs.client import Client, Json
from tests.harness.worlds.pods import RESTRICTED

NEED = "selinux/type/a_t"


def pod() -> Json:
    """Return a Pod with an owner: whoever asks and the account must both have the right."""
    made = RESTRICTED.pod()
    made["spec"]["securityContext"]["seLinuxOptions"] = {"type": "a_t"}
    owner = {"apiVersion": "example.com/v1", "kind": "Any", "name": "o", "uid": "u"}
    made["metadata"]["ownerReferences"] = [owner]
    return made


def profile(index: int) -> Json:
    """Return a profile that covers what the Pod needs."""
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "ContainerProfile",
        "metadata": {"name": f"wide-{index:02}"},
        "spec": {"rank": 700, "catalogue": 3, "privileges": [NEED]},
    }


async def covering(admin: Client) -> int:
    """Count the profiles that the ConfigMap lists as covering it."""
    _, found = await admin.request("GET", MAP_PATH)
    texts = [line.split("\t")[1] for line in found["spec"]["data"]["profiles"].split("\n")]
    return sum(not text or bool(re.fullmatch(text, NEED)) for text in texts)


@pytest.fixture
async def crowded(admin: Client) -> AsyncIterator[Client]:
    """An administrator where exactly as many profiles cover it as are asked about."""
    missing = MOST_ASKED - await covering(admin)
    made = [profile(index) for index in range(missing)]
    await admin.apply(made)
    yield admin
    for item in [*made, profile(99)]:
        await admin.request(
            "DELETE",
            f"/apis/sallyport.dev/v1alpha1/containerprofiles/{item['metadata']['name']}",
        )


async def test_all_that_are_asked_about_can_be_paid_for(crowded: Client) -> None:
    """Two reviews for each of the most profiles end in a refusal: an error would let it in.

    With one more there may be a right that was not asked about, and it comes in.
    """
    nobody = crowded.as_user("nobody", GROUPS)
    end = time.monotonic() + SETTLE_S
    while await covering(crowded) != MOST_ASKED:
        assert time.monotonic() < end
        await asyncio.sleep(0.1)
    await asyncio.sleep(1)  # kube-apiserver follows the ConfigMap.
    status, message = await status_of(nobody, pod(), SPACE)
    assert status == HTTPStatus.FORBIDDEN
    assert is_refusal(message)
    await crowded.apply([profile(99)])
    await comes_to(nobody, pod(), SPACE, 201)
