"""The command `sallyport status`."""

import typer

from cli.flags import ConfigFlag, KubeconfigFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async

STATUS = """**Examples**

    sallyport status --kubeconfig ~/.kube/config

    sallyport status --kubeconfig ~/.kube/config -o json

    SALLYPORT_NAMESPACE=guard sallyport status --kubeconfig config.yaml

One screen: is what arrives judged, by which gates, is it recorded, and what
needs a person now. Each problem names what to do first and the section of the
documentation that goes on. What could not be asked is "unknown", with the reason,
and never well. It ends within 20 seconds, also while etcd is down.

Nothing is written, and no Secret is read. It asks kube-apiserver, and through its
proxy the processes: docs/operate/status.md has the rights that it needs.
Whether a Pod is refused, the command verify tries by dry runs.

**Exit codes**: 0 all is well; 1 something is not; 2 no problem is known, but
something could not be asked; 64 wrong usage."""


def status(
    kubeconfig: KubeconfigFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Say on one screen how an installation stands, and what to do first."""
    log_to_stderr()
    from cli.shared.cluster_status.run import read_installation  # noqa: PLC0415 (keeps --help quick)
    from cli.status.render import print_status  # noqa: PLC0415

    found = run_async(read_installation(read_flags(config, kubeconfig=kubeconfig)))
    if output is Format.JSON:
        print_json(found)
    else:
        print_status(found, make_console())
    raise typer.Exit(found.exit_code)
