console.log("begun");
Deno.kill(Deno.pid, "SIGSTOP");
