"""A policy that was deleted and made anew reads what is known now: an uninstall, an install."""

import asyncio

from tests.api.backstop.alone.conftest import SPACE
from tests.api.backstop.installed_backstop import changed, comes_to, leftovers, shipped
from tests.harness.programs.client import Client
from tests.harness.worlds.pods import RESTRICTED
from tests.harness.worlds.rbac import binding, role, use_of, user


async def test_what_changes_after_a_new_install_counts(admin: Client, nobody: Client) -> None:
    """Of a ConfigMap kube-apiserver would go on reading what was there before."""
    pod = changed(RESTRICTED.pod(), hostIPC=True)
    for item in leftovers():
        await admin.delete(item)
    await comes_to(nobody, pod, SPACE, 201)
    await asyncio.sleep(5)  # Until kube-apiserver has let go of the parameters.
    await admin.apply(shipped())
    await comes_to(nobody, pod, SPACE, 403)
    spec = {"rank": 700, "catalogue": 3, "privileges": ["host/ipc"]}
    made = {"kind": "ContainerProfile", "metadata": {"name": "new-ipc"}, "spec": spec}
    await admin.apply([{"apiVersion": "sallyport.dev/v1alpha1", **made}])
    await admin.apply([role("use-ipc", use_of("new-ipc")), binding("use-ipc", user("ipc"))])
    await comes_to(admin.as_user("ipc", ("system:authenticated", "runners")), pod, SPACE, 201)
    await admin.request("DELETE", "/apis/sallyport.dev/v1alpha1/containerprofiles/new-ipc")
