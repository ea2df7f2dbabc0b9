"""The section of the settings that names an OPA server."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class Opa(BaseModel):
    """The OPA server that evaluates the policies, where one does."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: str = Field(
        "",
        description="`http://HOST:PORT`, `https://HOST:PORT`, or `unix:///PATH/OF/SOCKET`. "
        "Proxies of the environment are not used.",
    )
    push: bool = Field(
        default=True,
        description="Put the policies there; otherwise the server must load the bundle itself.",
    )
    token_file: Path | None = Field(
        None, description="Bearer token for it; read anew for each request."
    )
    ca_file: Path | None = Field(
        None, description="CA (PEM) of its certificate; without it the machine's."
    )
