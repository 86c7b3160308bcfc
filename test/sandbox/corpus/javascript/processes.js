const [child, cluster] = [await import("node:child_process"), (await import("node:cluster")).default];
const seconds = "{{spawned}}";
await attempt("Deno.Command", () => new Deno.Command("sleep", { args: [seconds] }).spawn().pid);
await attempt(
  "Deno.Command of itself",
  () => new Deno.Command("/proc/self/exe", { args: ["eval", "-A", ""] }).outputSync().code === 0,
);
await attempt(
  "spawn",
  () =>
    new Promise((resolve, reject) =>
      child
        .spawn("sleep", [seconds], { detached: true })
        .on("error", reject)
        .on("spawn", () => resolve("spawned")),
    ),
);
await attempt("spawnSync", () => child.spawnSync("sleep", ["0"]).status === 0);
await attempt("execSync", () => child.execSync("id").toString());
await attempt("execFileSync", () => child.execFileSync("/bin/echo", ["out"]).toString());
await attempt("exec with a shell of one's own", () => child.execSync("echo out", { shell: "/bin/sh" }).toString());
await attempt(
  "fork",
  () =>
    new Promise((resolve, reject) =>
      child
        .fork("data:text/javascript,")
        .on("error", reject)
        .on("spawn", () => resolve("forked")),
    ),
);
await attempt("cluster.fork", () => cluster.fork().process.pid);
await attempt("process.execve", () => (process.execve("/bin/echo", ["echo"], {}), "replaced"));
