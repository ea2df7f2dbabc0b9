"""The programs that the tests and the Makefile need, built from pinned Go modules."""
