import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";

const seenBody = z.object({
  asked: z.array(
    z.object({
      headers: z.record(z.string(), z.unknown()),
      body: z.looseObject({ model: z.string(), messages: z.array(z.unknown()) }),
    }),
  ),
  hungUp: z.number(),
});

/** The server of main.ts, at work. */
export interface OddServer {
  readonly baseUrl: string;
  /** Makes a model behave in one of the ways of behaviours.ts. */
  become(model: string, behaviour: string): Promise<void>;
  /** What it was asked so far, and how many callers hung up. */
  seen(): Promise<z.output<typeof seenBody>>;
  /** How often a model was asked for. */
  asked(model: string): Promise<number>;
  close(): Promise<void>;
}

/** Starts it as a process, on a free port of 127.0.0.1. */
export async function startOddServer(): Promise<OddServer> {
  const child = spawn(process.execPath, [fileURLToPath(new URL("main.ts", import.meta.url))], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [line] = await once(createInterface(child.stdout), "line");
  const url = String(line);
  const seen = async () => seenBody.parse(await (await fetch(`${url}/control/seen`)).json());
  return {
    baseUrl: `${url}/v1`,
    seen,
    asked: async (model) => (await seen()).asked.filter(({ body }) => body.model === model).length,
    async become(model, behaviour) {
      await fetch(`${url}/control/${model}`, { method: "PUT", body: behaviour });
    },
    async close() {
      child.stdin.end();
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}
