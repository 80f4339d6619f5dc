"""From delivered files to typed raw rows: each file once, each record either raw or rejected."""

from pipelines.ingest.files import FoundFile, find_files
from pipelines.ingest.load import Ingested, IngestSettings, ingest_source

__all__ = ["FoundFile", "IngestSettings", "Ingested", "find_files", "ingest_source"]
