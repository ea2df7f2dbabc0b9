"""The second half of --help of the commands of `sallyport policy` that speak of a cluster."""

STATUS = """**Examples**

    sallyport policy status

    sallyport policy status --kubeconfig admin.conf -o json

It says too whether another release built what is in force, and what control
makes of the registry that it follows.

**Exit codes**: 0 what is wanted is in force in every gate; 1 somebody lacks or
refuses it, or what is in the registry is not taken; 2 the cluster did not say;
64 wrong usage."""

ACTIVATE = """**Examples**

    sallyport policy activate my-bundle.tar.gz

    sallyport policy activate 5f0c2d9e7a41

    sallyport policy activate base

    sallyport policy activate my-bundle.tar.gz --wait 300 -o json

`base` is the bundle of each gate's own settings, without which the built-in
one. Needs the verb exempt on namespaces.sallyport.dev of Sallyport's namespace.

**Exit codes**: 0 in force; 1 refused, and by whom; 2 not in force in time, or
the cluster did not answer; 64 wrong usage."""

ROLLBACK = """**Examples**

    sallyport policy rollback

    sallyport policy rollback --now

    sallyport policy rollback -o json

**Exit codes**: 0 in force; 1 refused, and by whom; 2 not in force in time, or
the cluster did not answer; 64 wrong usage, or there is nothing to go back to."""

SIGN = """**Examples**

    sallyport policy sign my-bundle.tar.gz --signing-key policy.key

    sallyport policy sign b.tar.gz --signing-key my.key --signing-key-id 2026

    sallyport policy sign b.tar.gz --signing-key my.key -o json

A signature that it has is replaced.

**Exit codes**: 0 signed; 2 it is no bundle; 64 wrong usage."""

FETCH = """**Examples**

    sallyport policy fetch r.example/site@sha256:… --output b.tar.gz

    sallyport policy fetch IMAGE --output b.tar.gz --ca-file ca.crt -o json

The command activate puts it in force. With bundles.keys in the settings, what is
not signed by one of them is refused and not written.

**Exit codes**: 0 fetched; 2 the registry did not give it, or it is refused; 64
wrong usage."""
