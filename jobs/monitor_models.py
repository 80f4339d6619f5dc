"""From predictions to drift and the report: monitor and report.

`spark-submit --py-files dist/cauce.zip jobs/monitor_models.py --project conf/NAME`
Options and exit codes are those of `cauce run`.
"""

import sys

from pipelines.cli import main

if __name__ == "__main__":
    main(["run", "--from", "monitor", *sys.argv[1:]])
