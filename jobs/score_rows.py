"""From the champion to predictions: score.

`spark-submit --py-files dist/cauce.zip jobs/score_rows.py --project conf/NAME`
Options and exit codes are those of `cauce score`.
"""

import sys

from pipelines.cli import main

if __name__ == "__main__":
    main(["score", *sys.argv[1:]])
