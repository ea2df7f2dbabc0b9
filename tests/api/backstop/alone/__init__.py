"""The back-stop where there is no gate."""
