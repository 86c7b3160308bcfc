addEventListener("beforeunload", (event) => event.preventDefault());
addEventListener("unload", () => {
  for (;;);
});
process.on("exit", () => {
  for (;;);
});
process.on("beforeExit", () => setTimeout(() => {}, 10));
console.log("started");
process.exit(0);
