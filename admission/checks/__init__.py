"""The checks of the chain, one a file: `(Request, Facts) -> Outcome`, pure."""
