"""From the training set to a champion: train and evaluate.

`spark-submit --py-files dist/cauce.zip jobs/train_models.py --project conf/NAME`
Options and exit codes are those of `cauce run`.
"""

import sys

from pipelines.cli import main

if __name__ == "__main__":
    main(["run", "--from", "train", "--until", "evaluate", *sys.argv[1:]])
