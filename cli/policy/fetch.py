"""`sallyport policy fetch`: a bundle out of an OCI registry."""

from pathlib import Path
from typing import Annotated

import typer

from cli.flags import ConfigFlag, read_flags
from cli.output import Format, print_json
from cli.policy.shared.flags import FormFlag
from cli.session import run_async
from core.base.whole_files import write_whole

FETCH = """**Examples**

    sallyport policy fetch r.example/site@sha256:… --output b.tar.gz

    sallyport policy fetch IMAGE --output b.tar.gz --ca-file ca.crt -o json

The command activate puts it in force. With bundles.keys in the settings, what is
not signed by one of them is refused and not written.

**Exit codes**: 0 fetched; 2 the registry did not give it, or it is refused; 64
wrong usage."""


def policy_fetch(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    reference: Annotated[
        str, typer.Argument(metavar="IMAGE", help="registry.example/policies/site@sha256:…")
    ],
    output: Annotated[Path, typer.Option("--output", metavar="FILE", help="The bundle.")],
    ca_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CA (PEM) of the registry's certificate.")
    ] = None,
    username: Annotated[str, typer.Option(help="Who signs in to the registry.")] = "",
    password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Holds the password, or a token.")
    ] = None,
    config: ConfigFlag = None,
    form: FormFlag = Format.TABLE,
) -> None:
    """Fetch a bundle from an OCI registry by its digest, and check its signature."""
    from app.bundles.registry import FLAGS, read_registry  # noqa: PLC0415
    from cli.policy.shared.documents import made_bundle  # noqa: PLC0415 (keeps --help quick)
    from policies.bundle.format import parse_bundle  # noqa: PLC0415
    from policies.bundle.signatures import read_keys  # noqa: PLC0415
    from policies.clients.oci_registry import fetch, parse_reference  # noqa: PLC0415

    settings = read_flags(config)
    named = parse_reference(reference, "IMAGE", pinned=True)
    registry = read_registry(ca_file, username, password_file, FLAGS)
    packed = run_async(fetch(named, registry))
    bundle = parse_bundle(packed, str(named), read_keys(settings.bundles.keys))
    write_whole(output, packed, make_folder=True)
    if form is Format.JSON:
        signed_by = bundle.signed_by
        print_json(made_bundle(output, bundle, signed=bool(signed_by), key_id=signed_by))
        return
    signed = f", signed by {bundle.signed_by}" if bundle.signed_by else ""
    typer.echo(f"{output}: revision {bundle.revision}{signed}")
