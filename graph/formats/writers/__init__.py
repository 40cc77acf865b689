"""Write foreign formats, one module per format."""
