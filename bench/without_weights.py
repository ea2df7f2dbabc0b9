"""A gate that asks nobody for weights: the other half of the pairs of `bench.weights`."""

from typing import Any
from unittest.mock import patch

from admission import chain
from admission.model.facts import Facts
from admission.weights.check import check_weights
from admission.weights.facts import WeightGatherer
from cli.main import main


async def _nobody(_self: Any, _request: Any, _reading: Any, facts: Facts) -> Facts:
    """Add nothing."""
    return facts


if __name__ == "__main__":
    patch.object(WeightGatherer, "facts_of", _nobody).start()
    patch.object(
        chain, "CHAIN", tuple(each for each in chain.CHAIN if each.check != check_weights)
    ).start()
    main()
