"""Finds custom kinds that carry Pods and registers the gate's webhooks for them."""
