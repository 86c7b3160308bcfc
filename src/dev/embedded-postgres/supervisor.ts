// Runs one server and ends it when its own standard input closes: node supervisor.ts UID:GID PROGRAM
// ARGUMENT…
//
// The kernel closes that pipe however the other process ends, also by SIGKILL. It needs no native code,
// unlike prctl(PR_SET_PDEATHSIG), and works beyond Linux.
import { spawn } from "node:child_process";
import process from "node:process";

/** How long a fast shutdown may take, in ms, before the server is made to quit without a checkpoint. */
const fastShutdownLimit = 20_000;

const [owner = "", program = "", ...args] = process.argv.slice(2);
const [uid, gid] = owner.split(":").map(Number);
const account = uid !== undefined && gid !== undefined ? { uid, gid } : {};

const server = spawn(program, args, {
  ...account,
  stdio: ["ignore", "ignore", "inherit"],
  windowsHide: true,
});
server.on("error", (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
  process.stdin.destroy();
});
server.on("exit", (code) => process.exit(code ?? 1));

process.stdin.resume().on("close", stop).on("error", stop);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);
// The gateway outlives its terminal, and needs its database then.
process.on("SIGHUP", () => {});

/** PostgreSQL's "fast shutdown" (SIGINT), then "immediate" (SIGQUIT), from which it recovers. */
function stop(): void {
  server.kill("SIGINT");
  setTimeout(() => server.kill("SIGQUIT"), fastShutdownLimit);
}
