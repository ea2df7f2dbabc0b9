"""A gate in which nobody asks for a sandbox: the other half of the pairs of `bench.sandbox`."""

from typing import Any
from unittest.mock import patch

from admission import chain, gather
from admission.model.facts import Facts
from admission.sandbox.check import check_sandbox
from cli.main import main


def _nobody(*_: Any) -> bool:
    """Say that nobody asks."""
    return False


if __name__ == "__main__":
    patch.object(gather, "may_be_asked", _nobody).start()
    patch.object(Facts, "may_isolate", property(_nobody)).start()
    patch.object(
        chain, "CHAIN", tuple(each for each in chain.CHAIN if each.check != check_sandbox)
    ).start()
    main()
