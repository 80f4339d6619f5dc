"""From new files to published tables: ingest, clean, validate.

`spark-submit --py-files dist/cauce.zip jobs/ingest_sources.py --project conf/NAME`
Options and exit codes are those of `cauce run`.
"""

import sys

from pipelines.cli import main

if __name__ == "__main__":
    main(["run", "--until", "validate", *sys.argv[1:]])
