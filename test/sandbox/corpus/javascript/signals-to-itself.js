console.log("started");
Deno.kill(Deno.pid, "SIGSTOP");
