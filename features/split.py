"""The part of a training set that a row belongs to, by time, with an embargo before each border."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from pyspark.sql import Column
from pyspark.sql import functions as F

TRAIN, VALIDATION, TEST = "train", "validation", "test"
EMBARGO, OUTSIDE = "embargo", "outside"


@dataclass(frozen=True)
class TimeSplit:
    """Borders between parts, as first days of what follows, in the wall time of a zone.

    Args:
        train_until: First day that is no longer training.
        validation_until: First day that is no longer validation.
        test_until: First day that is no longer test.
        zone: IANA name of the zone whose midnights the borders are.
        embargo: Span before the end of training and of validation whose rows are left out, since
            their labels were not known when the next part began; none where zero.
    """

    train_until: date
    validation_until: date
    test_until: date
    zone: str
    embargo: timedelta

    def column(self, at: Column) -> Column:
        """`train`, `validation`, `test`, `embargo` or `outside` (null instants too) for an instant.

        A row is under embargo where `at + embargo` lies behind the end of its part; the end itself
        is still inside. After the test part nothing is learnt, so it has no embargo.
        """
        until_train, until_validation, until_test = (
            F.to_utc_timestamp(F.lit(day.isoformat()).cast("timestamp"), self.zone)
            for day in (self.train_until, self.validation_until, self.test_until)
        )
        known = F.timestamp_add("SECOND", F.lit(int(self.embargo.total_seconds())), at)
        return (
            F.when(at < until_train, F.when(known <= until_train, TRAIN).otherwise(EMBARGO))
            .when(
                at < until_validation,
                F.when(known <= until_validation, VALIDATION).otherwise(EMBARGO),
            )
            .when(at < until_test, TEST)
            .otherwise(OUTSIDE)
        )
