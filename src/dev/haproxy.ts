import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

/** The router of several cells. */
export interface CellRouter {
  /** Its Runtime API. */
  readonly socket: string;
  stop(): Promise<void>;
}

/** Its configuration and first maps. */
const CELLS = path.join(import.meta.dirname, "../../deploy/cells");

/** The addresses, host:port, of the router and of its cells in order. */
export interface CellAddresses {
  readonly http: string;
  readonly grpc: string;
  readonly cells: readonly { readonly http: string; readonly grpc: string }[];
}

/** @returns the program; undefined if it is not installed */
export function findHaproxy(): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(path.delimiter), "/usr/sbin", "/usr/local/sbin"];
  return folders.map((folder) => path.join(folder, "haproxy")).find((file) => existsSync(file));
}

/** Starts HAProxy with deploy/cells and waits for it. @param folder of its maps. @throws Error: its output */
export async function startCellRouter(
  program: string,
  { http, grpc, cells }: CellAddresses,
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<CellRouter> {
  mkdirSync(folder, { recursive: true });
  for (const name of ["cell.lua", "haproxy.cfg"]) cpSync(path.join(CELLS, name), path.join(folder, name));
  cpSync(CELLS, folder, { recursive: true, force: false });
  const socket = path.join(folder, "haproxy.sock");
  const servers = cells.flatMap((cell, at): [string, string][] => [
    [`HTTP_${at + 1}`, cell.http],
    [`GRPC_${at + 1}`, cell.grpc],
  ]);
  const child = spawn(program, ["-db", "-f", path.join(folder, "haproxy.cfg")], {
    env: {
      CELLS: folder,
      CELLS_SOCKET: socket,
      HTTP_BIND: http,
      GRPC_BIND: grpc,
      ...Object.fromEntries(servers),
      ...env,
    },
    stdio: ["ignore", "ignore", "pipe"],
    // Out of reach of the terminal's Ctrl-C: running calls end first.
    detached: true,
  });
  const kill = () => child.kill();
  process.once("exit", kill);
  let output = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-2_000)));
  const exited = once(child, "exit");
  while (!(await accepts(http))) {
    if (child.exitCode !== null) throw new Error(`HAProxy does not start: ${output}`);
    await sleep(20);
  }
  return {
    socket,
    stop: async () => {
      kill();
      await exited;
      process.off("exit", kill);
    },
  };
}

async function accepts(address: string): Promise<boolean> {
  const [host = "", port = ""] = address.split(":");
  const socket = connect(Number(port), host);
  const connected = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return connected;
}
