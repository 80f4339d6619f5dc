"""The project file: its schema, and layered loading with the origin of every value."""

from pipelines.project.load import LoadedProject, load_project, locate_mistake
from pipelines.project.references import iter_expressions, source_columns
from pipelines.project.schema import Project

__all__ = [
    "LoadedProject",
    "Project",
    "iter_expressions",
    "load_project",
    "locate_mistake",
    "source_columns",
]
