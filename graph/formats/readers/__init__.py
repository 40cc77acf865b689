"""Read foreign formats, one module per format."""
