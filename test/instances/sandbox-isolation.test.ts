import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hasBubblewrap } from "../sandbox/isolations.ts";
import { startGround, type Ground } from "../support/world.ts";

/** How `serve` and `doctor` behave without bubblewrap, which is hidden on this machine. */
const ROOT = path.resolve(import.meta.dirname, "../..");
const BUBBLEWRAP = "/usr/bin/bwrap";
const COVER = hasBubblewrap()
  ? [BUBBLEWRAP, "--dev-bind", "/", "/", "--ro-bind", "/dev/null", BUBBLEWRAP]
  : [];

let ground: Ground;
beforeAll(async () => {
  ground = await startGround();
});
afterAll(() => ground.close());

async function withoutBubblewrap(args: readonly string[], isolation: string) {
  const [command = "", ...rest] = [...COVER, process.execPath, "src/main.ts", ...args];
  const env = { PATH: process.env["PATH"] ?? "", ...ground.settings, SANDBOX_ISOLATION: isolation };
  const child = spawn(command, rest, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { code: Number(code), out, err };
}

it("reports missing isolation as a problem when required: doctor says so and serve does not start", async () => {
  const doctor = await withoutBubblewrap(["doctor", "--json"], "required");
  expect(doctor.code, doctor.err).toBe(1);
  expect(JSON.parse(doctor.out)).toMatchObject({
    ok: false,
    problems: [expect.stringMatching(/^SANDBOX_ISOLATION: .*bubblewrap/)],
  });
  const serve = await withoutBubblewrap(["serve"], "required");
  expect([serve.code, serve.out]).toEqual([2, ""]);
  expect(serve.err).toMatch(/SANDBOX_ISOLATION: .*bubblewrap/);
});

it("reports missing isolation as a warning by default, with the tools unavailable", async () => {
  const { code, out } = await withoutBubblewrap(["doctor", "--json"], "");
  expect([code, JSON.parse(out)]).toEqual([
    0,
    {
      ...{
        ok: true,
        problems: [],
        off: expect.arrayContaining([expect.stringMatching(/^sandbox: .*bubblewrap/)]),
      },
      warnings: expect.arrayContaining([
        expect.stringMatching(/^SANDBOX_ISOLATION: .*unavailable.*bubblewrap/),
      ]),
    },
  ]);
});

it("reports nothing when less isolation is configured", async () => {
  const { code, out } = await withoutBubblewrap(["doctor"], "process");
  expect([code, out]).toEqual([0, expect.not.stringContaining("sandbox")]);
  expect(out).not.toContain("- off: sandbox");
});
