"""The engine of a candidate: the embedded one, whatever engine the settings name."""

from collections.abc import Callable
from typing import Final

from app.settings.sections import Evaluation
from app.wiring import load_engine
from core.base.errors import BundleRefusedError
from policies.bundle.format import Bundle
from policies.engine.cache import RememberingEngine

ONLY_EMBEDDED: Final = (
    "replay and shadow evaluate in the embedded engine alone, so a bundle of 'policy build "
    "--engine opa' may call what there is not here"
)


def load_embedded(
    bundle: Bundle, evaluation: Evaluation, observe: Callable[[float], None] = lambda _: None
) -> RememberingEngine:
    """Load a bundle to be compared; `observe` gets the seconds of each evaluation.

    An OPA server is not asked: those that gates use would have to hold candidates too.

    Raises:
        BundleRefusedError: it cannot be loaded, or calls what only an OPA server has.
    """
    try:
        return load_engine(bundle, evaluation.model_copy(update={"engine": "embedded"}), observe)
    except BundleRefusedError as error:
        raise BundleRefusedError(f"{error}. Note: {ONLY_EMBEDDED}") from error
