"""`sallyport egress release`: what is left of Sallyport holds nobody's namespace."""

from pathlib import Path

import pytest

from app.settings.root import read_settings
from cli.egress.release import exit_code, release
from core.base import names
from core.base.errors import ClusterError, SettingsError
from tests.api.egress.control.field import FLOOR, OWN, PATIENCE_S, Field
from tests.api.kube.objects import wait_for
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import ApiStatusError
from tests.harness.programs.egress_control import controlling, settings_of
from tests.harness.worlds.rbac import grant, rule, user

ONE, OTHER = "sallyport-allow-one-0", "example.com/keep"


async def finalizers(field: Field, name: str) -> list[str]:
    """Return those of an allowlist."""
    found: list[str] = (await field.intent(name))["metadata"].get("finalizers", [])
    return found


async def test_without_control_allowlists_go_once_released(
    apiserver: ApiServer, field: Field
) -> None:
    """Policies stay, and finalizers of others; a second time there is nothing to do.

    Where Sallyport is installed again, what is open is held again.
    """
    kubeconfig = apiserver.kubeconfig()
    settings = read_settings(None, {"kubeconfig": kubeconfig})
    async with controlling(settings_of(kubeconfig, OWN)):
        for name in ("one", "two"):
            await field.allow(name, {"cidr": "192.0.2.0/24"})
        await field.settle_names(ONE, "sallyport-allow-two-0")
        intent = await field.intent("one")
        both = {"metadata": {"finalizers": [names.EGRESS_FINALIZER, OTHER]}}
        await field.client.patch(intent, both)
    await field.client.delete(await field.intent("two"))
    assert await finalizers(field, "two") == [names.EGRESS_FINALIZER]

    done = await release(settings)
    ours = {each for each in done.released if each.startswith(f"{field.name}/")}
    assert ours == {f"{field.name}/one", f"{field.name}/two"}
    assert (done.kept, exit_code(done)) == ([], 0)
    assert await finalizers(field, "one") == [OTHER]
    with pytest.raises(ApiStatusError, match="not found"):
        await field.intent("two")
    assert (await field.policies()).keys() == FLOOR | {ONE, "sallyport-allow-two-0"}
    assert (await release(settings)).released == []

    async with controlling(settings_of(kubeconfig, OWN)):
        await field.settle_names(ONE)

        async def is_held() -> bool:
            return names.EGRESS_FINALIZER in await finalizers(field, "one")

        await wait_for(is_held, PATIENCE_S)
        assert set(await finalizers(field, "one")) == {names.EGRESS_FINALIZER, OTHER}
        await field.client.patch(intent, {"metadata": {"finalizers": [names.EGRESS_FINALIZER]}})


async def test_what_may_not_be_released_is_said(apiserver: ApiServer, field: Field) -> None:
    """By name, with kube-apiserver's reason; and the exit code says that something is held."""
    intent = await field.allow("one", {"cidr": "192.0.2.0/24"})
    await field.client.patch(intent, {"metadata": {"finalizers": [names.EGRESS_FINALIZER]}})
    settings = read_settings(None, {"kubeconfig": apiserver.kubeconfig("bob")})
    with pytest.raises(ClusterError, match="cannot list"):
        await release(settings)
    lists = rule([names.GROUP], "egressallowlists", "list")
    await field.client.apply(grant("list-allowlists", lists, user("bob")))
    bob = field.client.as_user("bob", ("researchers",))
    await bob.wait_until_can("list", {"group": names.GROUP, "resource": "egressallowlists"})
    done = await release(settings)
    (kept,) = (each for each in done.kept if each.allowlist == f"{field.name}/one")
    assert "cannot patch" in kept.why
    assert (done.released, exit_code(done)) == ([], 1)
    assert await finalizers(field, "one") == [names.EGRESS_FINALIZER]
    await field.client.patch(intent, {"metadata": {"finalizers": None}})


async def test_a_folder_holds_nothing(tmp_path: Path) -> None:
    """It is no cluster; the message says what to give."""
    with pytest.raises(SettingsError, match="give --kubeconfig FILE"):
        await release(read_settings(None, {"cluster": tmp_path}))
