"""What the gate holds of egress: labels of Pods, policies, and that a namespace is closed."""
