console.log("started");
setInterval(() => {}, 1_000);
await new Promise(() => {});
