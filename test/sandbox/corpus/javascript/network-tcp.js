const port = Number("{{port}}");
for (const hostname of [
  "127.0.0.1",
  "localhost",
  "::1",
  "0.0.0.0",
  "::ffff:127.0.0.1",
  "2130706433",
  "169.254.169.254",
])
  await attempt(`Deno.connect ${hostname}`, async () => (await Deno.connect({ hostname, port })).localAddr.port);
await attempt("Deno.connectTls", async () => (await Deno.connectTls({ hostname: "127.0.0.1", port })).localAddr.port);
await attempt(
  "Deno.connect to a socket file",
  async () => (await Deno.connect({ transport: "unix", path: "{{dir}}/socket" })) && "connected",
);
await attempt("Deno.listen", () => Deno.listen({ hostname: "127.0.0.1", port: 0 }).addr.port);
await attempt(
  "Deno.listen on a socket file",
  () => Deno.listen({ transport: "unix", path: "{{dir}}/listening" }) && "listening",
);
await attempt("Deno.serve", () => Deno.serve({ port: 0, onListen() {} }, () => new Response("x")).addr.port);
