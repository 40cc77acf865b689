"""The collector: a process that compresses finished chunks while a program is recorded."""
