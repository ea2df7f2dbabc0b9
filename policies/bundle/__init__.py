"""A policy bundle: its content, file format and signatures, and the OPA compiler that makes it."""
