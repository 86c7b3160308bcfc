import { beforeAll, describe, expect, it } from "vitest";
import type { LaunchLine } from "../../../src/sandbox/process/launch-line.ts";
import { PROBES } from "../../../src/sandbox/process/probes.ts";
import { Run } from "../../../src/sandbox/process/run.ts";
import { hasBubblewrap } from "../isolations.ts";
import { NEVER, selfTestParts, runSelfTest } from "./bench.ts";

type Parts = Awaited<ReturnType<typeof selfTestParts>>;

const probesOf = (...names: string[]) => PROBES.filter(({ name: check }) => names.includes(check));
const PERMISSIONS = "no permissions (JavaScript)";

/** Replaces a part of the launch line, which must exist. */
function without(line: LaunchLine, part: string, instead = ""): LaunchLine {
  expect(line.join("\n")).toContain(part);
  const [command, ...words] = line;
  return [command, ...words.map((word) => word.replace(part, instead)).filter((word) => word !== "")];
}

describe("sandbox self-test without bubblewrap", () => {
  let parts: Parts;
  beforeAll(async () => {
    parts = await selfTestParts("process");
  });

  it.each([
    [/memory \(RLIMIT_DATA\)/, /ulimit -d \d+ && /, "", ["memory (RLIMIT_DATA)"]],
    [/“Max cpu time” of a worker is unlimited/, /ulimit -t \d+ && /, "", []],
    [/“Max core file size”/, "ulimit -c 0 && ", "", []],
    [/no permissions.*read a file/, "--deny-read", "--allow-read", [PERMISSIONS]],
    [/no network.*no permissions|no permissions.*no network/, "--deny-net", "--allow-net", [PERMISSIONS]],
    [/no permissions.*read the environment/, "--deny-env", "--allow-env", [PERMISSIONS]],
    [/no permissions.*start a program/, "--deny-run", "--allow-run", [PERMISSIONS]],
    [/no permissions.*open a library/, "--deny-ffi", "--allow-ffi", [PERMISSIONS]],
    [/no new privileges/, "--no-new-privs", "", []],
    [/guests end with the gateway.*Install bubblewrap/, "--pdeathsig=KILL", "", []],
  ] as const)("reports %s when %s is missing", async (sentence, part, instead, names) => {
    const found = typeof part === "string" ? part : (part.exec(parts.line.join("\n"))?.[0] ?? "nothing");
    const line = without(parts.line, found, instead);
    await expect(runSelfTest(parts, line, probesOf(...names))).rejects.toThrow(sentence);
  });

  it.each(["memory in use", "processor time", "output", "wall-clock time"])(
    "reports %s when the host does not watch it",
    async (check) => {
      const watchNothing = {
        cpuMs: 60_000,
        outputBytes: 2 ** 22,
        memoryMb: { javascript: 4_096, python: 4_096 },
      };
      const limits = { ...parts.limits, ...watchNothing };
      const tried = runSelfTest(parts, parts.line, probesOf(check), async (worker, job) => {
        const code =
          check === "output"
            ? 'console.log("x".repeat(100_000))'
            : "export default await new Promise((go) => setTimeout(go, 300))";
        return await new Run(worker, { ...job, code, timeoutMs: 20_000 }, limits, NEVER).done;
      });
      await expect(tried).rejects.toThrow(`Isolation check “${check}” failed`);
    },
  );

  it("passes with all protections", async () => {
    const javascript = PROBES.filter(({ language }) => language === "javascript");
    await expect(runSelfTest(parts, parts.line, javascript)).resolves.toBeUndefined();
  });
});

const bubblewrap = hasBubblewrap();
if (!bubblewrap)
  process.stderr.write("bubblewrap does not work here: its part of the self-test is skipped\n");

describe.runIf(bubblewrap)("sandbox self-test with bubblewrap", () => {
  let parts: Parts;
  beforeAll(async () => {
    parts = await selfTestParts("required");
  });

  it.each([
    [/shares net/, "--unshare-net"],
    [/guests end with the gateway/, "--die-with-parent"],
  ] as const)("reports %s when %s is missing", async (sentence, part) => {
    let line = without(parts.line, part);
    // Either protection suffices.
    if (part === "--die-with-parent" && line.includes("--pdeathsig=KILL"))
      line = without(line, "--pdeathsig=KILL");
    await expect(runSelfTest(parts, line, [])).rejects.toThrow(sentence);
  });

  it("passes with all protections", async () => {
    const javascript = PROBES.filter(({ language }) => language === "javascript");
    await expect(runSelfTest(parts, parts.line, javascript)).resolves.toBeUndefined();
  });
});
