"""The run report: its contract (`model`), and the HTML page made of it (`html`)."""
