"""Built-in functions of Rego that the host supplies to a policy, a module for each family."""
