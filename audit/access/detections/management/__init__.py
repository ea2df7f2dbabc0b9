"""Detections of changes of accounts and containers through Azure Resource Manager."""
