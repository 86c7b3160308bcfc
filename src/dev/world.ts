import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { apiReady } from "./api-stand-in/registration.ts";
import { buildConsoleIfOlder } from "./console-build/index.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "./embedded-postgres/index.ts";
import { spawn } from "node:child_process";
import { getCompileCacheDir } from "node:module";
import { createInterface } from "node:readline";

const chainReady = z.object({ url: z.string() });
const inferenceReady = z.object({ url: z.string() });

export interface DevWorld {
  databaseUrl: string;
  rpcUrl: string;
  /** OpenAI-compatible stand-in; undefined when the configuration names a real server. */
  inferenceUrl: string | undefined;
  /** Stand-in for a third-party API; undefined when the operator registers tools, or none. */
  api: z.output<typeof apiReady> | undefined;
  /** Whether there is a console to serve. */
  consoleBuilt: boolean;
  /** Ends everything, the database last. */
  stop(): Promise<void>;
}

export interface DevWorldOptions {
  dataDir: string;
  /** A running chain; default: a new process with its data here. */
  rpcUrl?: string | undefined;
  withInference: boolean;
  withApi: boolean;
  /** Not with Vite, which serves the sources. */
  buildConsole: boolean;
  log: (line: string) => void;
}

/** Starts PostgreSQL, the local Solana chain and the stand-ins, each a process of its own, side by side. */
export async function startDevWorld({
  dataDir,
  rpcUrl,
  withInference,
  withApi,
  buildConsole,
  log,
}: DevWorldOptions): Promise<DevWorld> {
  const started: { stop(): Promise<void> }[] = [];
  const keep = <Part extends { stop(): Promise<void> }>(part: Part): Part => {
    started.push(part);
    return part;
  };
  const stop = async () => {
    for (const part of started.reverse()) await part.stop();
  };
  try {
    const [postgres, chain, inference, api, consoleBuilt] = await settleAll([
      startEmbeddedPostgres({ dataDir, onProgress: log }).then(keep<EmbeddedPostgres>),
      rpcUrl === undefined
        ? startChild(file("../localchain/main.ts"), [
            "--port",
            "0",
            "--data-dir",
            path.join(dataDir, "chain"),
          ]).then(keep<Child>)
        : { ready: { url: rpcUrl } },
      withInference ? startChild(file("inference-stand-in/main.ts"), []).then(keep<Child>) : undefined,
      withApi ? startChild(file("api-stand-in/main.ts"), []).then(keep<Child>) : undefined,
      buildConsole ? buildConsoleIfOlder(log) : true,
    ]);
    return {
      databaseUrl: postgres.url,
      rpcUrl: chainReady.parse(chain.ready).url,
      inferenceUrl: inference && inferenceReady.parse(inference.ready).url,
      api: api && apiReady.parse(api.ready),
      consoleBuilt,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Like Promise.all, but waits for all even when one fails, so that nothing starts after the clean-up. */
async function settleAll<Parts extends readonly unknown[]>(
  parts: [...Parts],
): Promise<{ [Index in keyof Parts]: Awaited<Parts[Index]> }> {
  await Promise.allSettled(parts);
  return Promise.all(parts);
}

function file(relative: string): string {
  return path.relative(process.cwd(), fileURLToPath(new URL(relative, import.meta.url)));
}

/** A process of the development setup, which ends when this one does: it watches its standard input. */
interface Child {
  /** The JSON line that it printed when it was ready. */
  ready: unknown;
  /** Ends it and waits until it has. */
  stop(): Promise<void>;
}

/** Starts a program in a process out of reach of Ctrl-C, and waits for its JSON line. */
async function startChild(file: string, args: readonly string[]): Promise<Child> {
  // Inside it, Node has a folder per version.
  const cache = getCompileCacheDir();
  const child = spawn(process.execPath, [file, ...args], {
    ...(cache !== undefined && { env: { ...process.env, NODE_COMPILE_CACHE: path.dirname(cache) } }),
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  const exited = new Promise<number | null>((resolve) => {
    child.once("exit", resolve);
    child.once("error", () => resolve(null));
  });
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([
    new Promise<string>((resolve) => lines.once("line", resolve)),
    exited.then((code) => Promise.reject(new Error(`${file} ended with ${code} before it was ready`))),
  ]);
  const ready: unknown = JSON.parse(line);
  return {
    ready,
    async stop() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}
