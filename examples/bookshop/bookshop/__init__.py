"""A small bookshop: customers order over HTTP, a warehouse thread packs and sends, another thread releases old reservations."""
