"""The second half of the --help of `sallyport certs`: examples of under 77 columns, exit codes."""

CERTS = """**Examples**

    sallyport certs status --kubeconfig ~/.kube/config

    sallyport certs status --help

**Exit codes**: 0 all is well; 1 something is wrong or late; 2 it cannot be
told; 64 wrong usage. Each command's --help says more."""

STATUS = """**Examples**

    sallyport certs status --kubeconfig ~/.kube/config

    sallyport certs status --kubeconfig ~/.kube/config -o json

    SALLYPORT_NAMESPACE=guard sallyport certs status --kubeconfig config.yaml

Lifetimes are those of --config (settings certificates.…), else the shipped
ones. Needs the right to read Sallyport's Secrets and Lease in its namespace
and the webhook configurations. No private key is ever printed.

**Exit codes**: 0 all is well; 1 something is broken, or not replaced in time,
or nobody leads; 2 the cluster does not answer, or the right is missing; 64
wrong usage."""
