"""Everything of Cauce with side effects: storage, sessions, training, commands."""

__version__ = "0.1.0"
