"""What the sweep's decisions on Pods say that they sign in as is what Entra is asked about."""

import msgspec

from control.risk.applications import ApplicationsInUse
from core.decision.request import Phase
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.risk.cluster_at_risk import CAROL, SPARE, everyone, judge, snapshot
from tests.unit.admission.risk.test_risk_who_counts import signing_in, with_env
from tests.unit.admission.world import Folder, request


async def test_a_client_id_that_only_a_running_pod_names_is_asked_about(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """No service account names it: without this it would be unidentified for good."""
    in_use = ApplicationsInUse(tuple, lambda: None)
    cluster = Watched(everyone(folder).cluster(), snapshot=snapshot())
    made = with_env(signing_in(name="plain"), AZURE_CLIENT_ID=SPARE)
    asks = msgspec.structs.replace(request(made, CAROL), phase=Phase.VALIDATING, running=True)
    in_use.note(await judge(cluster, engine).validate(asks, budget=10))
    assert in_use() == {SPARE}
