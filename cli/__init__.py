"""The command line: a folder for each command; `app` reads settings and joins parts."""
