// npm run test:stress -- FILE… [--copies 6] [--rounds 5]: runs the files many times, several copies side by
// side, which loads the machine, and prints each test that was ever red, with its first failure. Exit code 1
// if there is one.
import { spawn } from "node:child_process";
import path from "node:path";
import process from "node:process";

import { ROOT } from "./tooling/command.ts";
import { readOptions, UsageError, wholeNumber } from "./tooling/options.ts";
import { stopOnSignals } from "./tooling/signals.ts";

const USAGE = `npm run test:stress -- FILE… [--copies N] [--rounds N]
  --copies N  runs side by side, each with a database server of its own (6)
  --rounds N  how often (5)`;

const { files, copies, rounds } = readOptions(
  USAGE,
  {
    options: { copies: { type: "string", default: "6" }, rounds: { type: "string", default: "5" } },
    allowPositionals: true,
  },
  ({ values, positionals }) => {
    if (positionals.length === 0) throw new UsageError("name at least one test file");
    const copies = wholeNumber("copies", values.copies, 1);
    return { files: positionals, copies, rounds: wholeNumber("rounds", values.rounds, 1) };
  },
);

const stop = stopOnSignals();
/** How often each test was red. */
const red = new Map<string, number>();
for (let round = 1; round <= rounds && !stop.signal.aborted; round++) {
  const results = await Promise.all(Array.from({ length: copies }, run));
  for (const { lines, failures } of results) {
    if (lines.some((line) => !red.has(line))) process.stdout.write(failures);
    for (const line of lines) red.set(line, (red.get(line) ?? 0) + 1);
  }
  const failed = results.filter(({ lines }) => lines.length > 0).length;
  process.stdout.write(
    `round ${round} of ${rounds}: ${copies - failed} of ${copies} green, ${results[0]?.counts}\n`,
  );
}
for (const [line, times] of red) process.stdout.write(`red ${times} of ${copies * rounds} times: ${line}\n`);
process.exit(stop.exitCode() ?? (red.size === 0 ? 0 : 1));

interface Result {
  readonly counts: string;
  readonly lines: readonly string[];
  /** What vitest printed of the failed tests. */
  readonly failures: string;
}

/** One run of the files, as npm test does it. */
function run(): Promise<Result> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [path.join(ROOT, "test/run.ts"), ...files], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const end = () => child.kill("SIGTERM");
    stop.signal.addEventListener("abort", end);
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.on("close", (code) => {
      stop.signal.removeEventListener("abort", end);
      const lines = Array.from(output.matchAll(/^RED (.*)$/gm), ([, line = ""]) => line);
      const counts = output.trimEnd().split("\n").at(-1) ?? "";
      const failures = /^.* Failed (?:Suites|Tests) [^]*?(?=^ *Test Files )/m.exec(output)?.[0] ?? "";
      const isUnexplained = code !== 0 && lines.length === 0 && !stop.signal.aborted;
      const unexplained = `ended with ${code}: ${output.slice(-500)}`;
      resolve({ counts, lines: isUnexplained ? [unexplained] : lines, failures });
    });
  });
}
