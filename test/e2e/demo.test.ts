import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { runToolgateHere } from "../cli/toolgate.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** `npm run demo` without the installation, twice on the same data. */

const HOME = { PATH: process.env["PATH"], HOME: process.env["HOME"] };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-demo-"));
  chmodSync(folder, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function toolgate(...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ["src/main.ts", ...args], {
    // readme.test.ts covers the sandbox.
    env: { ...HOME, DATA_DIR: folder, PORT: "0", GRPC_PORT: "0", SANDBOX_ISOLATION: "off" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = await once(child, "close");
  return { code: typeof code === "number" ? code : null, output };
}

describe("npm run demo", () => {
  it("npm run demo buys one call and exits with 0, also on the data of an earlier run", async () => {
    const receipts = new Set<string>();
    for (const run of ["first", "second"]) {
      const { code, output } = await toolgate("dev", "--exit-after-demo");
      expect(output, run).toMatch(/402, quote \$0\.001/);
      expect(output, run).toMatch(/not charged again/);
      const [, quoted, charged] = /5 .*quoted at most (\d+), charged (\d+)/.exec(output) ?? [];
      expect(Number(charged), output).toBeGreaterThan(0);
      expect(Number(charged), output).toBeLessThan(Number(quoted));
      expect(output).toMatch(/6 .*no API key and no SOL; quoted 1000, charged 1000/);
      expect(code, output).toBe(0);
      receipts.add(/receipt (rcpt_\w+)/.exec(output)?.[1] ?? "");
      expect(existsSync(path.join(folder, "dev.json")), "dev.json exists only while dev runs").toBe(false);
      expect(output, run).not.toMatch(/\u001b\[/);
    }
    expect(receipts.size).toBe(2);
  });

  it("every command has help, and an unknown command exits with code 2", async () => {
    for (const args of [
      ["--help"],
      ["serve", "--help"],
      ["accounts", "create", "--help"],
      ["keys", "--help"],
    ]) {
      expect((await runToolgateHere({}, args)).code, args.join(" ")).toBe(0);
    }
    expect((await toolgate("fly")).code).toBe(2);
    expect((await runToolgateHere({}, ["keys", "create"])).code).toBe(2);
    const serve = await runToolgateHere({}, ["serve"]);
    expect(serve.code).toBe(2);
    for (const name of ["DATABASE_URL", "SOLANA_RPC_URLS", "TREASURY_OWNER"])
      expect(serve.stderr).toContain(name);
  });
});
