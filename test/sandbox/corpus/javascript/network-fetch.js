const urls = [
  "http://127.0.0.1:{{port}}/",
  "http://localhost:{{port}}/",
  "http://[::1]:{{port}}/",
  "http://[::ffff:7f00:1]:{{port}}/",
  "http://0x7f.1:{{port}}/",
  "http://169.254.169.254/latest/meta-data/",
  "http://metadata.google.internal/computeMetadata/v1/",
  "https://example.com/",
];
for (const url of urls) await attempt(`fetch ${url}`, async () => (await fetch(url)).status);
await attempt("fetch through a proxy", async () => {
  const client = Deno.createHttpClient({ proxy: { url: "http://127.0.0.1:{{port}}" } });
  return (await fetch("http://example.com/", { client })).status;
});
const opened = (source) =>
  new Promise((resolve, reject) => {
    source.onopen = () => resolve("opened");
    source.onerror = () => {
      source.close();
      reject(new Error("refused"));
    };
  });
await attempt("WebSocket", () => opened(new WebSocket("ws://127.0.0.1:{{port}}/")));
await attempt(
  "WebSocketStream",
  async () => (await new WebSocketStream("ws://127.0.0.1:{{port}}/").opened) && "opened",
);
await attempt("EventSource", () => opened(new EventSource("http://127.0.0.1:{{port}}/")));
await attempt("WebTransport", async () => (await new WebTransport("https://127.0.0.1:{{port}}/").ready, "ready"));
