import childProcess from "node:child_process";
import dgram from "node:dgram";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import workers from "node:worker_threads";

// Loaded before each unit test: what would leave the process throws, whichever library tries it.

function refuse(what: string): () => never {
  return () => {
    throw new Error(`A unit test ${what}. A system test imports what does so (test/tooling/test-groups.ts).`);
  };
}

net.Socket.prototype.connect = refuse("connects a socket");
net.Server.prototype.listen = refuse("listens on a socket");
dgram.createSocket = refuse("makes a socket");
Object.assign(childProcess.ChildProcess.prototype, { spawn: refuse("starts a process") });
for (const name of ["spawnSync", "execSync", "execFileSync"] as const)
  childProcess[name] = refuse("starts a process");
workers.Worker = new Proxy(workers.Worker, { construct: refuse("starts a thread") });
syncBuiltinESMExports();
