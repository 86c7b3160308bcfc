import { createSocket } from "node:dgram";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import os from "node:os";
import path from "node:path";
import { ROOT } from "../../tooling/command.ts";
import { listen as listenOn } from "../../support/servers.ts";

/** A host with bait (files, environment, listeners) that detects when it is reached. */
export interface CanaryHost {
  /** Values for the snippets, by name. */
  readonly values: Readonly<Record<string, string>>;
  readonly secret: string;
  /** Connections and changes detected; empty if no attack succeeded. */
  traces(): Promise<string[]>;
  end(): Promise<void>;
}

const MODULE = `export const reached = 1; globalThis.postMessage?.("ran");\n`;
const FILES = { spare: "as it was\n", "module.js": MODULE, "module.mts": MODULE };

/** Prepares the bait. The environment is that of this process. */
export async function startCanaryHost(): Promise<CanaryHost> {
  const secret = `canary-${crypto.randomUUID()}`;
  const hits: string[] = [];
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-canary-"));
  const dir = path.join(folder, "open");
  const file = path.join(dir, "file.json");
  await mkdir(dir);
  const files = { ...FILES, "file.json": `${JSON.stringify({ secret })}\n` };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(dir, name), text);
  const { port, close } = await listen(path.join(dir, "socket"), hits);
  // Readable by every user, so that only the sandbox protects it.
  for (const place of [
    folder,
    dir,
    ...Object.keys(files).map((name) => path.join(dir, name)),
    path.join(dir, "socket"),
  ]) {
    await chmod(place, 0o777);
  }
  process.env.SANDBOX_TEST_SECRET = secret;
  const spawned = `98${String(Math.random()).slice(2, 9)}`;
  return {
    values: { dir, file, secret, spawned, port: String(port), root: ROOT, hostname: os.hostname() },
    secret,
    async traces() {
      const changed = await changesOf(dir, files);
      const stray = [`sandbox-written-${port}`, `sandbox-python-${port}`].map((name) =>
        path.join(os.tmpdir(), name),
      );
      const left = await Promise.all(
        stray.map(async (place) => ((await exists(place)) ? [`${place} was written`] : [])),
      );
      const processes = (await processesWith(spawned)).map(({ line }) => `a process: ${line}`);
      return [...hits, ...changed, ...left.flat(), ...processes];
    },
    async end() {
      delete process.env.SANDBOX_TEST_SECRET;
      for (const { pid } of await processesWith(spawned)) process.kill(pid, "SIGKILL");
      await close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** TCP and UDP on one port, and a Unix socket. Each connection counts. */
async function listen(file: string, hits: string[]): Promise<{ port: number; close: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = (how: string) =>
    createServer((socket) => {
      hits.push(`a connection ${how}`);
      sockets.add(socket);
      socket.on("error", () => {});
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
  const [tcp, local] = [server("by TCP"), server("by a socket in a file")];
  const port = await listenOn(tcp);
  await once(local.listen(file), "listening");
  const udp = createSocket("udp4", () => hits.push("a datagram"));
  udp.bind(port, "127.0.0.1");
  await once(udp, "listening");
  const closed = (one: Server) => new Promise<void>((resolve) => one.close(() => resolve()));
  return {
    port,
    close: async () => {
      udp.close();
      // Unread input keeps such a connection open.
      for (const socket of sockets) socket.destroy();
      await Promise.all([closed(tcp), closed(local)]);
    },
  };
}

/** Changes in a folder: names, contents, modes. */
async function changesOf(dir: string, files: Readonly<Record<string, string>>): Promise<string[]> {
  const names = (await readdir(dir)).sort();
  const expected = [...Object.keys(files), "socket"].sort();
  const added = names.filter((name) => !expected.includes(name)).map((name) => `${name} was made`);
  const gone = expected.filter((name) => !names.includes(name)).map((name) => `${name} was removed`);
  const changed = await Promise.all(
    Object.entries(files).map(async ([name, text]) => {
      const place = path.join(dir, name);
      if (!(await exists(place))) return [];
      const isSame = (await readFile(place, "utf8")) === text && ((await stat(place)).mode & 0o777) === 0o777;
      return isSame ? [] : [`${name} was changed`];
    }),
  );
  return [...added, ...gone, ...changed.flat()];
}

async function processesWith(word: string): Promise<{ pid: number; line: string }[]> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const all = pids.map(async (pid) => {
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    return { pid: Number(pid), line: line.replaceAll("\0", " ") };
  });
  return (await Promise.all(all)).filter(({ line }) => line.includes(word));
}

function exists(place: string): Promise<boolean> {
  return stat(place).then(
    () => true,
    () => false,
  );
}
