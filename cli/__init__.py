"""The command line, and the composition root: settings are read and parts joined here only."""
