"""Show answers on a screen: tables, text and SVG."""
