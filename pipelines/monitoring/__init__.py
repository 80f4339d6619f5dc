"""What changed since training: `measure_drift` (drift) compares the inputs of two parts."""
