"""Environment variables by which container toolkits are asked for devices."""

from functools import lru_cache
from typing import Final

READ_BY_TOOLKITS: Final = frozenset(
    {
        "ASCEND_ALLOW_LINK",
        "ASCEND_RUNTIME_OPTIONS",
        "ASCEND_VNPU_SPECS",
        "CUDA_VERSION",
        "NVIDIA_GDRCOPY",
        "NVIDIA_GDS",
        "NVIDIA_IMEX_CHANNELS",
        "NVIDIA_MIG_CONFIG_DEVICES",
        "NVIDIA_MIG_MONITOR_DEVICES",
        "NVIDIA_MOFED",
        "NVIDIA_NVSWITCH",
    }
)
"""Those of other names than `…_VISIBLE_DEVICES`; sources: the rule `gpu/environment`."""

VISIBLE: Final = "_VISIBLE_DEVICES"
"""End of each vendor's own; those of vendors that are not known count as well."""

READ_BY_LIBRARIES: Final = frozenset(
    f"{name}{VISIBLE}"
    for name in ("ASCEND_RT", "CUDA", "HIP", "JAX_CUDA", "JAX_ROCM", "MUSA", "ROCR", "TPU")
)
"""They narrow what the container already has; ranks set them differently."""

NO_DEVICE: Final = frozenset({"", "none", "void"})
"""Values that ask for none."""

_MOST_REMEMBERED: Final = 4096
"""Names of variables: the same ones come with every Pod."""


@lru_cache(_MOST_REMEMBERED)
def names_devices(name: str) -> bool:
    """Return whether a toolkit reads a variable of this name."""
    if name in READ_BY_TOOLKITS:
        return True
    return name.endswith(VISIBLE) and name not in READ_BY_LIBRARIES
