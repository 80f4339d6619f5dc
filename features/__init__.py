"""Pure feature functions: columns and DataFrames in, columns and DataFrames out."""
