import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";

const folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-output-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Returns what a program writes to one file or two. */
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

it("writes a readable log when text and log share a file", () => {
  const [both] = written(true, "both");
  expect(both).toMatch(/^a step\n\[.*\] WARN: the port is taken \{"port":8081\}\n$/);
});

it("writes JSON lines when stderr has its own file or there is no text", () => {
  const [text, log] = written(true, "text", "log");
  expect(text).toBe("a step\n");
  expect(JSON.parse(log ?? "")).toMatchObject({ port: 8081, msg: "the port is taken" });
  expect(written(false, "alone")[0]).toContain('{"level":40');
});
