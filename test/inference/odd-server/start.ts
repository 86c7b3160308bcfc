import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { exitOf, firstLine } from "../../support/child.ts";

const seenBody = z.object({
  asked: z.array(
    z.object({
      headers: z.record(z.string(), z.unknown()),
      body: z.looseObject({ model: z.string(), messages: z.array(z.unknown()) }),
    }),
  ),
  hungUp: z.number(),
});

export interface OddServer {
  readonly baseUrl: string;
  become(model: string, behaviour: string): Promise<void>;
  seen(): Promise<z.output<typeof seenBody>>;
  asked(model: string): Promise<number>;
  close(): Promise<void>;
}

export async function startOddServer(): Promise<OddServer> {
  const child = spawn(process.execPath, [fileURLToPath(new URL("main.ts", import.meta.url))]);
  const url = await firstLine(child);
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
      await exitOf(child);
    },
  };
}
