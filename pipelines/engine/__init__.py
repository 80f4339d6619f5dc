"""Runs a project's steps in order: what is current is skipped, what happened is recorded."""
