"""Makes rules of a site from Gatekeeper's ConstraintTemplates and Constraints."""
