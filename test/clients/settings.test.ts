import { spawnSync } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";

/** Runs an example that must fail; returns the lines of its stderr. */
function failureOf(example: string, settings: Record<string, string>): string[] {
  const file = path.join(ROOT, "docs/examples/node", example);
  const env = { PATH: process.env["PATH"], ...settings };
  const { status, stderr } = spawnSync(process.execPath, [file], { env, encoding: "utf8" });
  expect(status).toBe(1);
  return stderr.trimEnd().split("\n");
}

it("the x402 example names a missing setting and the command that shows its value", () => {
  const lines = failureOf("x402.ts", { TOOLGATE_URL: "http://127.0.0.1:1", TOOLGATE_KEY: "k" });
  expect(lines).toEqual([
    "SOLANA_RPC_URL is not set. Beside npm start: export SOLANA_RPC_URL=$(node -p " +
      `"require('./.toolgate/dev.json').rpc_url")`,
  ]);
});

it("an example reports an unreachable gateway in one line", () => {
  const lines = failureOf("grpc-js.ts", { TOOLGATE_GRPC: "127.0.0.1:1", TOOLGATE_KEY: "k" });
  expect(lines).toEqual([
    expect.stringMatching(/ECONNREFUSED 127\.0\.0\.1:1.*is it running\? \(npm start\)$/),
  ]);
});
