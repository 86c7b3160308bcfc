const port = Number("{{port}}");
const on = (source, event) =>
  new Promise((resolve, reject) => source.on("error", reject).on(event, () => resolve(event)));
const [net, http, https, tls, http2, dns] = await Promise.all(
  ["net", "http", "https", "tls", "http2", "dns/promises"].map((name) => import(`node:${name}`)),
);
await attempt("net.connect", () => on(net.connect(port, "127.0.0.1"), "connect"));
await attempt("net.connect to a socket file", () => on(net.connect("{{dir}}/socket"), "connect"));
await attempt("http.get", () => on(http.get({ port, host: "127.0.0.1" }), "response"));
await attempt("https.get", () => on(https.get({ port, host: "127.0.0.1" }), "response"));
await attempt("tls.connect", () => on(tls.connect(port, "127.0.0.1"), "secureConnect"));
await attempt("http2.connect", () => on(http2.connect(`http://127.0.0.1:${port}`), "connect"));
await attempt("dns.lookup", async () => (await dns.lookup("localhost")).address);
await attempt("dns.resolve4", async () => (await dns.resolve4("example.com")).join());
await attempt("Deno.resolveDns", async () => (await Deno.resolveDns("example.com", "A")).join());
await attempt("Deno.resolveDns by a server of one's own", async () =>
  (await Deno.resolveDns("example.com", "TXT", { nameServer: { ipAddr: "127.0.0.1", port } })).join(),
);
