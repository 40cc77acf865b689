// Entities in columns, one for each container: a drawing of a workspace's own for the panel's view Entities.
// Copy it into .clew/views/ and reload the panel (`clew view --trust`, or the editor's); it is then one of the layouts.

export default {
  of: "entities",
  name: "columns",
  title: "Columns",
  hint: "A column for each container, the busiest on top",

  make: () => ({
    // Where entities are. They are eased there, and drawn as in the other layouts.
    places({ boxes, radius }) {
      const known = new Set(boxes.map((box) => box.entity));
      const holders = new Set(boxes.map((box) => box.container));
      const columns = Map.groupBy(
        boxes.filter((box) => !holders.has(box.entity)),
        (box) => (known.has(box.container) ? box.container : -1),
      );
      const wide = (1.6 * radius) / columns.size;
      const places = [];
      [...columns.entries()].forEach(([container, members], column) => {
        members.sort((a, b) => b.sent + b.received - a.sent - a.received);
        const x = (column - (columns.size - 1) / 2) * wide;
        const high = (1.6 * radius) / Math.max(members.length, 6);
        members.forEach((box, row) => {
          places.push({ id: box.entity, x, y: (row + 0.5) * high - 0.8 * radius, radius: 0.3 * Math.min(high, wide) });
        });
        // The container itself is a point above its column, where its name stands.
        if (container >= 0) places.push({ id: container, x, y: -0.88 * radius, radius: 0 });
      });
      return places;
    },
  }),
};
