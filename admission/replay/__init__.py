"""What another bundle would say of requests that were judged: pure, for replay and shadow."""
