"""Facts that need no causality: waits, exceptions, output lines, and loops that are not followed."""
