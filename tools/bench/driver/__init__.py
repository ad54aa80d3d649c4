"""What `tools/bench/compare`, `growth`, `guard` and `smoke` share."""
