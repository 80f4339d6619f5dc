"""Functions that belong to one project each, named in its file as `custom.<module>.<function>`."""
