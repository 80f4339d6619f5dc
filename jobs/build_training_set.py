"""From published tables to the training set: featurize.

`spark-submit --py-files dist/cauce.zip jobs/build_training_set.py --project conf/NAME`
Options and exit codes are those of `cauce featurize`.
"""

import sys

from pipelines.cli import main

if __name__ == "__main__":
    main(["featurize", *sys.argv[1:]])
