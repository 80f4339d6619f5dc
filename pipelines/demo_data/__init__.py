"""Raw deliveries for the demo: real flights of 2013 with a seeded mess and the truth about it."""

from pipelines.demo_data.write import DemoData, write_demo_data

__all__ = ["DemoData", "write_demo_data"]
