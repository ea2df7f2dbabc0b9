"""The HTTP endpoint that gives what identities read of weights, for looking back."""
