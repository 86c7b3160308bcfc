await attempt("Deno.kill of the parent", () => (Deno.kill(Deno.ppid, "SIGCONT"), "sent"));
await attempt("process.kill of the parent", () => process.kill(process.ppid, 0));
await attempt("process.kill of all", () => process.kill(-1, 0));
await attempt("process.kill of the first", () => process.kill(1, 0));
await attempt("process._debugProcess", () => (process._debugProcess(process.ppid), "debugged"));
await attempt("process.setuid", () => (process.setuid(0), "set"));
await attempt("process.setgroups", () => (process.setgroups([0]), "set"));
