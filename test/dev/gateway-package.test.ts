import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { expect, it } from "vitest";
import { command, ROOT } from "../tooling/command.ts";

it("the packed gateway starts in an empty folder and sells a call", async ({ skip }) => {
  skip(process.env["RELEASE"] !== "everything", "slow: set RELEASE=everything");
  const app = await mkdtemp(path.join(os.tmpdir(), "toolgate-gateway-"));
  try {
    const built = await command("npm", ["run", "-s", "build:gateway"]);
    expect(built.code, built.output).toBe(0);
    const tarball = built.output.trim().split("\n").at(-1) ?? "";
    const installed = path.join(app, "node_modules/toolgate");
    const empty = path.join(app, "empty");
    await Promise.all([mkdir(installed, { recursive: true }), mkdir(empty)]);
    await command("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"]);
    await symlink(path.join(ROOT, "node_modules"), path.join(installed, "node_modules"));
    const program = path.join(installed, "src/main.mjs");
    const { code, output } = await command(process.execPath, [program, "dev", "--exit-after-demo"], {
      cwd: empty,
      env: { PORT: "0", GRPC_PORT: "0" },
    });
    expect(code, output).toBe(0);
    expect(output).toMatch(/-> 200, receipt rcpt_/);
  } finally {
    await rm(app, { recursive: true, force: true });
  }
});
