"""Azure's role assignments and the access that they give, evaluated as Azure does. No network."""
