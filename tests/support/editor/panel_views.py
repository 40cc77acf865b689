"""The views of the panel by their addresses."""

from __future__ import annotations

ENTITIES = "view=entities&run=failed-write&layout=concentric"


PICTURES = (
    ("why", "text=Write+request+failed", "g.node"),
    ("why-critical-path", "text=Write+request+failed&path=shown", "section.path tbody tr"),
    ("why-modules", "text=Write+request+failed&level=module", "g.node"),
    ("values", "view=value&run=shop-after&state=Stock._sold", ".history-rows tbody tr"),
    ("path", "view=path&text=Write+request+failed", ".segments tbody tr"),
    ("aggregate", "view=aggregate&run=failed-write", "g.node"),
    ("diff", "view=diff&before=before&after=after", "g.node"),
    ("requests", "view=compare&before=shop-before&after=shop-after", ".flow svg, g.node"),
    ("sides", "view=compare&before=shop-before&after=shop-after&flows=sides", ".flow svg, g.node"),
    ("walk", "view=walk&text=Write+request+failed", "g.node"),
    ("suspects", "view=suspects&before=shop-before&after=shop-after", ".suspect-rows tbody tr"),
    ("patterns", "view=patterns&run=after", "tbody tr"),
    ("timeline", "view=timeline&run=after", "canvas"),
    ("entities", ENTITIES, "canvas.front[data-still]"),
    ("guide", "view=wizard&analysis=errors", ".choice"),
)
"""(name, address, an element that is visible once the view is drawn)."""
