"""A witness of logs: cosigns checkpoints that continue the last one that it saw of the log."""
