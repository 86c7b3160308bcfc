await attempt("localStorage", () => localStorage.getItem("planted"));
await attempt("sessionStorage", () => sessionStorage.getItem("planted"));
await attempt("caches", async () => (await (await caches.open("planted")).match("http://planted.test/"))?.text());
await attempt("Deno.openKv", async () => (await (await Deno.openKv()).get(["planted"])).value);
await attempt(
  "BroadcastChannel",
  () =>
    new Promise((resolve) => {
      new BroadcastChannel("planted").onmessage = ({ data }) => resolve(data);
      setTimeout(resolve, 100);
    }),
);
await attempt("globals", () => globalThis.planted ?? {}.planted);
await attempt("the title", () => process.title.includes("by-the-first"));
process.exit(0);
