"""The end of the tutorial for policy authors, word for word, in a real cluster with two gates."""

import asyncio
import shutil
from pathlib import Path

from policies.bundle.format import read_bundle
from tests.api.policies.published import controlling, in_force, open_field, until
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.tutorial import follow, steps


async def test_the_tutorial_ends_in_a_cluster_word_for_word(
    apiserver: ApiServer, client: Client, tmp_path: Path
) -> None:
    """All gates judge by the reader's bundle, and by the one before when it is taken back."""
    reader = tmp_path / "reader"
    reader.mkdir()
    for step in steps(cluster=False):
        await asyncio.to_thread(follow, *step, reader)
    (names, first), (_, back) = steps(cluster=True)
    assert not names
    warns, denies = (read_bundle(reader / f"{word}.tar.gz") for word in ("warns", "denies"))
    async with open_field(apiserver, client, tmp_path) as field:
        gates = [field.gate(), field.gate()]
        settings = {
            "SALLYPORT_KUBECONFIG": str(shutil.copy(field.kubeconfig, reader / "config")),
            "SALLYPORT_NAMESPACE": field.namespace,
        }
        async with controlling(field):
            await asyncio.to_thread(follow, "", first, reader, settings)
            await until(lambda: {in_force(gate) for gate in gates} == {denies.revision})
            await asyncio.to_thread(follow, "", back, reader, settings)
            await until(lambda: {in_force(gate) for gate in gates} == {warns.revision})
