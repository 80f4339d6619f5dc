"""From raw files to scored rows and a report: every step that has something to do.

`spark-submit --py-files dist/cauce.zip jobs/run_project.py --project conf/NAME`
Options and exit codes are those of `cauce run`.
"""

import sys

from pipelines.cli import main

if __name__ == "__main__":
    main(["run", *sys.argv[1:]])
