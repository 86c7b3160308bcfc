import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useWorld } from "../support/use-world.ts";
import { Browser } from "../transport/oauth/browser.ts";
import { runToolgateHere } from "./toolgate.ts";

/** Runs `sign-in` and `sign-out` on a device without a screen. */

const world = useWorld();
let home: string;
beforeAll(async () => {
  home = await mkdtemp(path.join(os.tmpdir(), "toolgate-cli-sign-in-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const toolgate = (...args: string[]) => runToolgateHere({ XDG_CONFIG_HOME: home, DATA_DIR: home }, args);

/** Follows the address that the command prints. */
async function signIn(...args: string[]): Promise<{ code: unknown; stdout: string }> {
  const child = spawn(process.execPath, ["src/main.mjs", "sign-in", ...args], {
    env: { PATH: process.env["PATH"], XDG_CONFIG_HOME: home, DATA_DIR: home },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  const closed = once(child, "close");
  for await (const line of createInterface({ input: child.stderr }))
    if (line.startsWith("http")) await fetch(await new Browser().approve(world.gateway, line));
  const [code] = await closed;
  return { code, stdout };
}

describe("sign-in", () => {
  it("prints the address, stores the sign-in, and sign-out revokes it", async () => {
    const { baseUrl } = world.gateway;
    expect(await signIn(baseUrl)).toEqual({ code: 0, stdout: `Signed in to ${baseUrl}.\n` });
    expect(await readdir(path.join(home, "toolgate"))).toHaveLength(1);
    const out = await toolgate("sign-out", baseUrl, "--json");
    expect(out).toMatchObject({ code: 0, rows: [{ gateway: baseUrl, signed_in: false }] });
    expect(await readdir(path.join(home, "toolgate"))).toEqual([]);
    expect((await toolgate("sign-out", baseUrl)).stdout).toBe(`Not signed in to ${baseUrl}.\n`);
  });

  it("signs in to the running dev without an address", async () => {
    expect(await toolgate("sign-in")).toMatchObject({ code: 1, stderr: expect.stringMatching(/^No dev/) });
    const dev = { base_url: world.gateway.baseUrl, database_url: "", rpc_url: "", treasury_owner: "" };
    await writeFile(path.join(home, "dev.json"), JSON.stringify(dev));
    const { stdout } = await signIn("--json");
    expect(JSON.parse(stdout)).toEqual({ gateway: world.gateway.baseUrl, signed_in: true });
    await toolgate("sign-out");
  });

  it.each([
    ["http://gateway.example", "url: must be https, or http on this machine\n"],
    ["http://127.0.0.1:1", expect.stringMatching(/: cannot be reached\n$/)],
  ])("reports in one line that %s cannot be used", async (url, stderr) => {
    expect(await toolgate("sign-in", url)).toMatchObject({ code: 1, stderr, stdout: "" });
  });
});
