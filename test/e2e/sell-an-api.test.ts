import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { stopChild, whileRuns } from "../support/child.ts";
import { until } from "../support/until.ts";
import { ROOT } from "../tooling/command.ts";
import { commandsUnder, newcomersEnvironment, newcomersFolder, runInBash, withoutNpm } from "./newcomer.ts";

const PAGE = "docs/tutorials/sell-an-api.md";

let folder: string;
const started: ChildProcess[] = [];
beforeAll(async () => {
  folder = newcomersFolder();
  expect(await runInBash(folder, commandsUnder(PAGE, "Write the API and its configuration"))).toBe("");
  // The page's own commands, with free ports for the gateway and without npm.
  const start = commandsUnder(PAGE, "Start both");
  const [, key = ""] = /^export (TOOL_WORDS_KEY=\S+)$/m.exec(start) ?? [];
  const [, api = ""] = /^node (\S+) &$/m.exec(start) ?? [];
  const [, config = ""] = /^(TOOLGATE_CONFIG=\S+) npm start$/m.exec(start) ?? [];
  const env = {
    ...newcomersEnvironment(),
    ...Object.fromEntries([key, config].map((one) => one.split("="))),
  };
  const run = (args: string[]) => {
    const child = spawn(process.execPath, args, {
      cwd: folder,
      env: { ...env, PORT: "0", GRPC_PORT: "0", SANDBOX_ISOLATION: "off" },
      stdio: ["ignore", "ignore", "inherit"],
    });
    started.push(child);
    return child;
  };
  run([api]);
  await whileRuns(
    run([path.join(ROOT, "src/main.mjs"), "dev", "--no-demo"]),
    until(() => existsSync(path.join(folder, ".toolgate/dev.json"))),
  );
});
afterAll(async () => {
  for (const child of started) await stopChild(child);
  rmSync(folder, { recursive: true, force: true });
});

it("docs/tutorials/sell-an-api.md shows commands that sell a call of one's own API", async () => {
  const output = await runInBash(folder, withoutNpm(commandsUnder(PAGE, "Buy a call")));
  expect(output).toMatch(/^active$/m);
  const answer: unknown = JSON.parse(output.split("\n").find((line) => line.startsWith('{"ok":')) ?? output);
  expect(answer).toMatchObject({ result: { words: 4 }, receipt: { debited_usdc_microusd: 112 } });
});
