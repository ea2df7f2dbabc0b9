"""The second half of the --help of `sallyport rollout`: examples, exit codes."""

ROLLOUT = """**Examples**

    sallyport rollout status --kubeconfig ~/.kube/config

    sallyport rollout plan --kubeconfig ~/.kube/config

    sallyport rollout set train --mode warn --from 2026-12-01

Which cluster is said by --kubeconfig or SALLYPORT_KUBECONFIG, which ledger by
--ledger or SALLYPORT_LEDGER__URL.

**Exit codes**: 0 all is ready, or done; 1 something would be refused, or was;
2 it cannot be told; 64 wrong usage. Each command's --help says more."""

STATUS = """**Examples**

    sallyport rollout status --kubeconfig ~/.kube/config

    sallyport rollout status train eval --since 14d

    sallyport rollout status -o json --ledger sqlite:///ledger.db

Which cluster: --kubeconfig or SALLYPORT_KUBECONFIG.
What runs is judged by the last sweep, what was asked for by the gate's
decisions since then. What is mended counts once it was submitted again.
Needs the right to list namespaces, to get the ConfigMap sallyport-gate and
the webhooks' configuration, to list Pods, and the ledger.

**Exit codes**: 0 every namespace is ready or enforces; 1 something would be
refused; 2 for some there is not enough evidence, the cluster or the ledger
does not answer; 64 wrong usage, or no such namespace."""

PLAN = """**Examples**

    sallyport rollout plan --kubeconfig ~/.kube/config

    sallyport rollout plan -o json

Which cluster: --kubeconfig or SALLYPORT_KUBECONFIG.
Those where nothing would be refused come first, of these the ones with the
fewest Pods; then those with the fewest workloads to mend.

**Exit codes**: 0 every namespace is ready or enforces; 1 something would be
refused; 2 for some there is not enough evidence, the cluster or the ledger
does not answer; 64 wrong usage."""

SET = """**Examples**

    sallyport rollout set train --mode warn --from 2026-12-01

    sallyport rollout set train eval --mode enforce

    sallyport rollout set train --mode audit --lower

    sallyport rollout set train --mode enforce --force --dry-run

Which cluster: --kubeconfig or SALLYPORT_KUBECONFIG.
It enforces where status says ready, and changes none of the namespaces that
are named where one is not; --force asks nobody. --from is told in warnings:
nothing begins by itself. Needs the verb exempt on namespaces.sallyport.dev
and patch on namespaces.

**Exit codes**: 0 it is so; 1 something would be refused, or you may not; 2
there is not enough evidence, the cluster or the ledger does not answer; 64
wrong usage, such as a milder mode without --lower."""
