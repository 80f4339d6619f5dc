"""Small JSON files of a local folder or an object store, each replaced as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

from pyarrow import fs


@dataclass(frozen=True)
class Folder:
    """A folder and the file system it is on.

    Args:
        uri: Absolute path or URI as the caller wrote it; children keep its form.
        system: File system of the URI.
        path: Path of the folder on that file system.
    """

    uri: str
    system: fs.FileSystem
    path: str

    @classmethod
    def at(cls, uri: str) -> Folder:
        """The folder at an absolute path or a URI that pyarrow knows (file, s3, gs, hdfs)."""
        system, path = fs.FileSystem.from_uri(uri)
        return cls(uri.rstrip("/"), system, path.rstrip("/"))

    def child(self, name: str) -> Folder:
        """A folder inside this one, which need not exist."""
        return Folder(f"{self.uri}/{name}", self.system, f"{self.path}/{name}")

    def child_names(self) -> list[str]:
        """Names of the folders inside, in order; none where this folder does not exist."""
        selector = fs.FileSelector(self.path, allow_not_found=True)
        infos = self.system.get_file_info(selector)
        return sorted(info.base_name for info in infos if info.type == fs.FileType.Directory)

    def has(self, name: str) -> bool:
        """True where the folder holds this file."""
        info = self.system.get_file_info(f"{self.path}/{name}")
        return bool(info.type == fs.FileType.File)

    def read_text(self, name: str) -> str:
        """The text of a file of this folder."""
        with self.system.open_input_stream(f"{self.path}/{name}") as stream:
            return bytes(stream.read()).decode()

    def replace_text(self, name: str, text: str) -> None:
        """Writes a file so that a reader sees the old text or the new one, never a part."""
        self.system.create_dir(self.path, recursive=True)
        staged = f"{self.path}/.{name}.{uuid4().hex}"
        with self.system.open_output_stream(staged) as stream:
            stream.write(text.encode())
        self.system.move(staged, f"{self.path}/{name}")

    def clear(self) -> None:
        """Makes the folder exist and be empty."""
        if self.system.get_file_info(self.path).type == fs.FileType.Directory:
            self.system.delete_dir_contents(self.path)
        self.system.create_dir(self.path, recursive=True)
