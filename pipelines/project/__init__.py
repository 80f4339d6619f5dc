"""The project file: its schema, and layered loading with the origin of every value."""
