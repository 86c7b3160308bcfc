const dgram = await import("node:dgram");
console.log("started");
dgram.createSocket("udp4").send("x", Number("{{port}}"), "127.0.0.1", (error) => error ?? console.log("ESCAPED sent"));
