for (const name of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGXCPU", "SIGALRM", "SIGPIPE"]) {
  try {
    Deno.addSignalListener(name, () => {});
  } catch {}
}
console.log("started");
for (;;);
