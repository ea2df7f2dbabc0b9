"""What Azure's role assignments open, evaluated as Azure Resource Manager does; no network."""
