"""Records when each Pod began and ended, and which addresses and identities it had."""
