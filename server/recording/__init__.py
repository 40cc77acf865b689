"""Recordings that the editor starts."""
