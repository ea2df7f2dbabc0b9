"""The setting `ledger.anchors`: where heads of the log are kept out of the ledger's own reach."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class AnchorPlace(BaseModel):
    """One place. Whoever can write the ledger must not be able to change what is in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    file: Path | None = Field(
        None, description="A file on another host's mount that can only be appended to."
    )
    blob: Annotated[str, Field(pattern=r"^https://\S+$", max_length=1024)] | None = Field(
        None,
        description="`https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX`: append blobs under "
        "an immutability policy that allows protected append writes. Signs in as `identity` says.",
    )
    config_map: (
        Annotated[str, Field(pattern=r"^[a-z0-9-]+/[a-z0-9.-]+$", max_length=320)] | None
    ) = Field(
        None,
        description="`NAMESPACE/NAME` in another cluster, of `kubeconfig`: the last heads alone, "
        "so that a bad record is known only to lie between two of them.",
    )
    kubeconfig: Path | None = Field(None, description="Of the cluster of `config_map`.")

    @model_validator(mode="after")
    def _is_one_place(self) -> Self:
        places = (self.file, self.blob, self.config_map)
        if sum(place is not None for place in places) != 1:
            raise ValueError("give one of file, blob and config_map")
        if (self.config_map is None) != (self.kubeconfig is None):
            raise ValueError("config_map needs kubeconfig, and no other place does")
        return self
