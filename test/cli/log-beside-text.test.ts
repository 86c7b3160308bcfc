import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-output-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What stands in a file, or in two, when a program writes text and logs. */
function written(besideText: boolean, ...names: string[]): string[] {
  const program = `const { createLogger } = await import("./src/log.ts");
process.stdout.write("a step\\n");
createLogger("info", { secrets: [], besideText: ${besideText} }).warn({ port: 8081 }, "the port is taken");`;
  const [one, other] = names.map((name) => openSync(path.join(folder, name), "w"));
  spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    ...{ cwd: ROOT, stdio: ["ignore", one, other ?? one] },
  });
  for (const file of [one, other]) if (file !== undefined) closeSync(file);
  return names.map((name) => readFileSync(path.join(folder, name), "utf8"));
}

it("logs for people where text and log go to one file", () => {
  const [both] = written(true, "both");
  expect(both).toMatch(/^a step\n\[.*\] WARN: the port is taken\n\s+port: 8081\n$/);
});

it("logs JSON lines where stderr is a file of its own, and where nothing else is written", () => {
  const [text, log] = written(true, "text", "log");
  expect(text).toBe("a step\n");
  expect(JSON.parse(log ?? "")).toMatchObject({ port: 8081, msg: "the port is taken" });
  expect(written(false, "alone")[0]).toContain('{"level":40');
});
