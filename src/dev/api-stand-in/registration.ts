import { writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";

/** Output of the stand-in when it is ready. */
export const apiReady = z.object({ url: z.string(), key: z.string() });

/** The variable that holds its key. */
const KEY = "TOOL_SUN_API_KEY";

/** Registers the stand-in's operation as any operator does, by a file. @returns the gateway's settings */
export function registerApi(
  dataDir: string,
  { url, key }: z.output<typeof apiReady>,
): Record<string, string> {
  const file = path.join(dataDir, "tools.json");
  const tool = {
    name: "sun_times",
    price: { expression: "100 * (has(params.days) ? params.days : 1)" },
    scope: "compute:read",
    timeout_ms: 5_000,
    headers_env: { "X-Api-Key": KEY },
    // It runs on this machine, whose addresses custom tools may reach only if the operator allows them.
    allow_hosts: ["127.0.0.1"],
    http: {
      openapi: fileURLToPath(new URL("openapi.yaml", import.meta.url)),
      operation_id: "sunTimes",
      server_url: url,
    },
  };
  writeFileSync(file, `${JSON.stringify({ tools: [tool] }, undefined, 2)}\n`);
  return { TOOLGATE_CONFIG: file, [KEY]: key };
}
