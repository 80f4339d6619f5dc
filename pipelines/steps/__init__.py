"""The steps of a project, each a file of wiring: what it reads, what it calls, what it reports."""
