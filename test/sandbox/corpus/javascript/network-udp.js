await attempt(
  "Deno.listenDatagram",
  () => Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 }).addr.port,
);
await attempt("QUIC", () => new Deno.QuicEndpoint({ hostname: "127.0.0.1", port: 0 }).addr.port);
