"""How ranks start, one way a file: in this process, or as the tasks of a Spark barrier stage."""

from pipelines.deep.launch.horovod_barrier import run_horovod_ranks
from pipelines.deep.launch.single import run_single_rank

__all__ = ["run_horovod_ranks", "run_single_rank"]
