import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { callAt, payQuote } from "../instances/calls.ts";
import { startGround, type Ground } from "../support/world.ts";

/** The image of deploy/Containerfile, built and run. `npm run image:check`; it takes some minutes. */

const SCRIPT = path.resolve("test/deploy/image.sh");
const BUILD_MS = 280_000;

const missing = ["buildah", "debootstrap", "unshare", "setpriv"].filter(
  (program) => spawnSync(program, ["--version"]).error !== undefined,
);
const SKIPPED =
  process.env["TOOLGATE_IMAGE"] === undefined
    ? "it builds for minutes: npm run image:check"
    : process.getuid?.() !== 0
      ? "only root can build it"
      : missing.length > 0
        ? `not installed: ${missing.join(", ")}`
        : undefined;

const image = z.object({
  OCIv1: z.object({
    config: z.object({
      User: z.string(),
      WorkingDir: z.string(),
      Env: z.array(z.string()),
      Entrypoint: z.array(z.string()),
      Cmd: z.array(z.string()),
    }),
  }),
});

describe.skipIf(SKIPPED !== undefined)(`the image${SKIPPED === undefined ? "" : ` (${SKIPPED})`}`, () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-image-"));
  let ground: Ground;
  let root: string;
  let config: z.output<typeof image>["OCIv1"]["config"];

  beforeAll(async () => {
    ground = await startGround({ DRAIN_MS: "0" });
    const build = spawn(SCRIPT, ["BUILD", folder], { stdio: ["ignore", "pipe", "pipe"] });
    const [out, err, [code]] = await Promise.all([
      text(build.stdout),
      text(build.stderr),
      once(build, "close"),
    ]);
    expect(code, err.slice(-2_000)).toBe(0);
    root = out.trim().split("\n").at(-1) ?? "";
    config = image.parse(JSON.parse(readFileSync(path.join(folder, "image.json"), "utf8"))).OCIv1.config;
  }, BUILD_MS);
  afterAll(async () => {
    await ground.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const start = (command: readonly string[], settings: Record<string, string> = {}) =>
    spawn(SCRIPT, ["RUN", root, ...command], {
      env: {
        ...Object.fromEntries(config.Env.map((entry) => entry.split(/=(.*)/s).slice(0, 2))),
        ...settings,
        WORKDIR: config.WorkingDir,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });

  it("runs as a user without capabilities that can write nothing, and has no package manager", async () => {
    expect(config.User).toBe("10001:10001");
    const script =
      "id -u; grep -E '^Cap(Eff|Bnd)|NoNewPrivs' /proc/self/status; " +
      "touch /opt/toolgate/x /var/tmp/x; command -v npm npx corepack";
    const shell = start(["/bin/sh", "-c", script]);
    const [out, err] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, "close")]);
    expect(out.replaceAll("\t", " ")).toBe(
      "10001\nCapEff: 0000000000000000\nCapBnd: 0000000000000000\nNoNewPrivs: 1\n",
    );
    expect(err.match(/Read-only file system/g)).toHaveLength(2);
  });

  it("serves, sells one call and stops", async () => {
    const { FEE_PAYER_KEYPAIR: _, ...settings } = ground.settings;
    const gateway = start([...config.Entrypoint, ...config.Cmd, "--json"], settings);
    const log = text(gateway.stderr);
    const ended = once(gateway, "close");
    const first = await Promise.race([
      once(createInterface(gateway.stdout), "line").then(([line]) => String(line)),
      ended.then(async () => expect.fail(`it ended: ${await log}`)),
    ]);
    const target = { baseUrl: String((JSON.parse(first) as { base_url: unknown }).base_url) };
    const agent = await ground.agent();
    const { headers } = await payQuote(ground, target, agent);
    const bought = await callAt(target, agent, { headers });
    expect(bought.status, JSON.stringify(bought.body)).toBe(200);
    expect(bought.body.receipt.debited_usdc_microusd).toBe(1_000);
    const [child] = readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/children`, "utf8").split(" ");
    process.kill(Number(child), "SIGTERM");
    expect((await ended)[0]).toBe(0);
    expect(await log).toContain("stopped");
  });
});
