import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { findHaproxy } from "../../src/dev/haproxy.ts";
import { restartPort } from "../support/ports.ts";

/** Interval of the proxy's checks, ms: more often than in the shipped file, for a busy machine. */
const CHECK_MS = 300;

export const HAPROXY = findHaproxy();

/** Where an instance listens, on 127.0.0.1. */
export interface Ports {
  readonly PORT: string;
  readonly GRPC_PORT: string;
}

export async function openPorts(): Promise<Ports> {
  return { PORT: String(await restartPort()), GRPC_PORT: String(await restartPort()) };
}

interface Proxy {
  readonly baseUrl: string;
  readonly grpcAddress: string;
  /** Of all servers of a backend: "UP" when the last check succeeded. */
  statuses(backend: string): Promise<(string | undefined)[]>;
  stop(): Promise<void>;
}

/** Starts HAProxy with the configuration in deploy/ before two instances. */
export async function startProxy(program: string, [a, b]: readonly [Ports, Ports]): Promise<Proxy> {
  const folder = mkdtempSync(path.join(tmpdir(), "toolgate-haproxy-"));
  const [file, control] = [path.join(folder, "haproxy.cfg"), path.join(folder, "control")];
  const shipped = readFileSync("deploy/haproxy/haproxy.cfg", "utf8");
  writeFileSync(
    file,
    shipped
      .replace("global\n", `global\n  stats socket ${control}\n`)
      .replace("inter 1s", `inter ${CHECK_MS}ms`),
  );
  const [http, grpc] = [`127.0.0.1:${await restartPort()}`, `127.0.0.1:${await restartPort()}`];
  const addresses = { HTTP_BIND: http, GRPC_BIND: grpc, ...addressesOf("A", a), ...addressesOf("B", b) };
  const child = spawn(program, ["-db", "-f", file], { stdio: "ignore", env: addresses });
  const ended = once(child, "exit");
  return {
    baseUrl: `http://${http}`,
    grpcAddress: grpc,
    async statuses(backend) {
      const rows = await text(connect(control).end(`show stat ${backend} 4 -1\n`));
      const [head = "", ...servers] = rows.trim().split("\n");
      return servers.map((row) => row.split(",")[head.split(",").indexOf("status")]);
    },
    async stop() {
      child.kill();
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

function addressesOf(name: string, { PORT, GRPC_PORT }: Ports): Record<string, string> {
  return { [`HTTP_${name}`]: `127.0.0.1:${PORT}`, [`GRPC_${name}`]: `127.0.0.1:${GRPC_PORT}` };
}
