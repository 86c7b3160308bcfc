const net = await import("node:net");
console.log("started");
net
  .createServer()
  .on("listening", () => console.log("ESCAPED listening"))
  .listen(0, "127.0.0.1");
