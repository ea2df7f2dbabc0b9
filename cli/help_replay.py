"""The second half of the --help of `sallyport policy replay` and `policy shadow`."""

REPLAY = """**Examples**

    sallyport policy replay --bundle my-bundle.tar.gz

    sallyport policy replay --bundle new.tar.gz --base old.tar.gz --since 30d

    sallyport policy replay --bundle new.tar.gz -n train -o json

    sallyport policy replay --bundle new.tar.gz --html replay.html

    SALLYPORT_LEDGER__URL=postgresql+psycopg://… sallyport policy replay …

Without --base it is compared with the published bundle that is active in the
cluster of --kubeconfig, else with that of the settings, else the built-in one;
the answer says which, and why. Both are judged in the embedded engine.

All but the bundles is as it was when each review was asked for: profiles,
rights, exceptions, risk. Where a bundle finds other privileges, profiles are
those of --cluster or --kubeconfig, else those that are shipped.

**Exit codes**: 0 nothing would newly be refused; 1 something would; 2 some
could not be judged again, or the candidate's policies fail, or the ledger or
cluster does not answer; 64 wrong usage, or nothing was recorded."""

SHADOW = """**Examples**

    SALLYPORT_SHADOW__BUNDLE=new.tar.gz sallyport run

    sallyport policy shadow status

    sallyport policy shadow status --metrics http://10.0.0.7:9080/metrics

Give --metrics once for each gate: what they count is added up. To say that it
may be promoted, 100 reviews and a tenth of all must have been compared.

**Exit codes**: 0 nothing would newly be refused; 1 something would; 2 nothing
can be said, or not all: a gate does not answer, has another candidate or none,
or some reviews could not be judged by it, or too few were compared; 64 wrong usage."""
