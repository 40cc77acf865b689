"""The panel's requests over HTTP and WebSocket, on the loopback."""
