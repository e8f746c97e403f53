"""Speed and accuracy, measured as ratios within one run. ``python -m benchmarks [NAME ...]``."""
