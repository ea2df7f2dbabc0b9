"""What circumstances of a request add: enough for careless workloads, not for careful ones."""

import asyncio
from collections.abc import Iterator

import pytest

from core.sandbox.decision import Signal
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from policies.engine.interface import PolicyAnswer
from policies.projection.model import Context, Standings, encode_context
from sandbox.risk_score import score_risk
from sandbox.runtime_choice import THRESHOLD
from tests.unit.policies.bundles import make_bundle

CARELESS = ("code/public_image", "code/unpinned_image", "identity/token", "exposure/unlimited")
"""An image of a public registry by its tag, with the token and without limits: defaults alone."""

SERVED = Context("CREATE", services=("web",))
NEW = Context("CREATE", new_service_account=True)
BOTH = Context("CREATE", services=("web",), new_service_account=True)
ENTERED = Context("CONNECT", "exec")
MEDIUM = Context("CREATE", risk=Standings(author="medium"))
LOW = Context("CREATE", risk=Standings(requester="low"))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    """The engine on a bundle compiled from the sources of now."""
    engine = EmbeddedEngine(read_bundle(make_bundle(tmp_path_factory.mktemp("built"))))
    yield engine
    engine.close()


def score(engine: EmbeddedEngine, signals: tuple[str, ...], context: Context) -> int:
    """Weigh a Pod of these signals in a context."""
    of_object = tuple(Signal(f"sandbox/{rule}", "spec") for rule in signals)
    judged = asyncio.run(engine.judge(b"", PolicyAnswer(()), encode_context(context)))
    return score_risk((*of_object, *judged.signals), (), engine.rules, {}).score


@pytest.mark.parametrize(
    ("signals", "context", "points", "because"),
    [
        (CARELESS, Context("CREATE"), 40, "no Pod is isolated for its defaults alone"),
        (CARELESS, SERVED, 55, "an unknown program that may change, open to everyone"),
        (CARELESS, NEW, 55, "the same, of an account that nobody has watched yet"),
        (CARELESS[:3], SERVED, 50, "limits do not make it known"),
        (CARELESS[1:], SERVED, 40, "one's own image, of which one knows who makes it"),
        (CARELESS[1:], NEW, 40, "the first day of one's own workload"),
        ((), BOTH, 30, "a careful service on its first day"),
        (("identity/token",), BOTH, 40, "the same with the default's token"),
        ((), ENTERED, 20, "a look into a careful workload"),
        (("code/notebook",), ENTERED, 60, "a notebook that is entered besides"),
        ((), MEDIUM, 40, "a careful workload of somebody at risk: the risk table decides alone"),
        (("identity/token",), MEDIUM, 50, "the same with the default's token"),
        (CARELESS, LOW, 55, "an unknown program of somebody of whom Entra is not quite sure"),
        (CARELESS[1:], LOW, 40, "one's own image at low risk, which is frequent"),
        (("code/interactive", "actor/debug"), Context("UPDATE"), 45, "a careful debug container"),
        (("code/interactive", "actor/debug", "code/unpinned_image"), Context("UPDATE"), 55,
         "the same with tools that may change"),
    ],
)  # fmt: skip
def test_circumstances_tip_careless_workloads_alone(
    engine: EmbeddedEngine, signals: tuple[str, ...], context: Context, points: int, because: str
) -> None:
    """The score that is argued, on the side of the threshold where it belongs."""
    assert because
    assert score(engine, signals, context) == points


def test_no_circumstance_is_enough_alone(engine: EmbeddedEngine) -> None:
    """Nor are all that a Pod may meet when it is created."""
    for context in (SERVED, NEW, BOTH, ENTERED):
        assert 0 < score(engine, (), context) < THRESHOLD
