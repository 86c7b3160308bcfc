await attempt("localStorage", () => (localStorage.setItem("planted", "by-the-first"), undefined));
await attempt("sessionStorage", () => (sessionStorage.setItem("planted", "by-the-first"), undefined));
await attempt("caches", async () => {
  const cache = await caches.open("planted");
  await cache.put("http://planted.test/", new Response("by-the-first"));
});
await attempt("Deno.openKv", async () => void (await (await Deno.openKv()).set(["planted"], "by-the-first")));
await attempt("BroadcastChannel", () => new BroadcastChannel("planted").postMessage("by-the-first"));
await attempt("globals", () => void (globalThis.planted = Object.prototype.planted = "by-the-first"));
await attempt("the title", () => void (process.title = "by-the-first"));
process.exit(0);
