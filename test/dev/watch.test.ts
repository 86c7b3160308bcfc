import { spawn, type ChildProcess } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { stopChild, whileRuns } from "../support/child.ts";
import { ROOT } from "../tooling/command.ts";

const devFile = z.object({ base_url: z.string(), console_url: z.string(), api_key: z.string() });
const answer = z.object({ result: z.unknown() });

let copy: string;
let child: ChildProcess;
let output = "";

beforeAll(() => {
  copy = mkdtempSync(path.join(os.tmpdir(), "toolgate-watch-"));
  chmodSync(copy, 0o755);
  for (const name of ["src", "gen", "package.json", "tsconfig.json"])
    cpSync(path.join(ROOT, name), path.join(copy, name), { recursive: true, verbatimSymlinks: true });
  symlinkSync(path.join(ROOT, "node_modules"), path.join(copy, "node_modules"));
  child = spawn(process.execPath, ["src/main.ts", "dev", "--watch", "--no-demo", "--json"], {
    cwd: copy,
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      PORT: "0",
      GRPC_PORT: "0",
      SANDBOX_ISOLATION: "off",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => (output += text));
});

afterAll(async () => {
  await stopChild(child);
  rmSync(copy, { recursive: true, force: true });
});

function edit(file: string, from: string, to: string): void {
  const place = path.join(copy, file);
  const text = readFileSync(place, "utf8");
  expect(text).toContain(from);
  writeFileSync(place, text.replace(from, to));
}

it("dev --watch serves changed sources at the same address with the same data", async () => {
  const devJson = path.join(copy, ".toolgate/dev.json");
  await whileRuns(child, expect.poll(() => existsSync(devJson)).toBe(true));
  const { base_url, console_url, api_key } = devFile.parse(JSON.parse(readFileSync(devJson, "utf8")));
  const echo = async (key?: string): Promise<unknown> => {
    const response = await fetch(`${base_url}/v1/mcp/tools/call`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${api_key}`,
        "content-type": "application/json",
        ...(key !== undefined && { "idempotency-key": key }),
      },
      body: '{"tool":"echo","params":{"message":"hello"}}',
    });
    return answer.parse(await response.json()).result;
  };
  expect(await echo("before")).toEqual({ echo: "hello" });

  edit("src/tools/echo.ts", "{ echo: message }", "{ echo: message, changed: true }");
  await expect.poll(() => echo().catch(() => output)).toEqual({ echo: "hello", changed: true });
  expect(await echo("before")).toEqual({ echo: "hello" });

  const page = await fetch(`${console_url}/`, { headers: { accept: "text/html" } });
  expect(page.headers.get("content-security-policy")).toMatch(/connect-src 'self' ws:\/\/127\.0\.0\.1:\d+/);
  const html = await page.text();
  expect(html).toContain("/console/@vite/client");
  expect(html).toContain("toolgate-dev-wallet");
  const brand = async () => (await fetch(`${console_url}/sign-in-frame.tsx`)).text();
  expect(await brand()).toContain("Toolgate");
  edit("src/console/sign-in-frame.tsx", "Toolgate", "Changed");
  await expect.poll(brand).toContain("Changed");
  expect(output).not.toContain("sign-in-frame.tsx changed");
});
