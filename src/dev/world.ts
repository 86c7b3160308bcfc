import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { apiReady } from "./api-stand-in/registration.ts";
import { buildConsoleIfOlder } from "./console-build/index.ts";
import { startChild, type Child } from "./child.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "./embedded-postgres/index.ts";

const chainReady = z.object({ url: z.string() });
const inferenceReady = z.object({ url: z.string() });

/** The outside world of a development gateway. */
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

/** Parts to start. */
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
