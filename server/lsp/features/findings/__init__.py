"""What clew found about the workspace's code by itself: changes since the baseline, and failed tests."""
