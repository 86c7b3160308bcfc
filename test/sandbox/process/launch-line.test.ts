import { chmod, cp, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GuestProcess } from "../../../src/sandbox/process/guest-process.ts";
import { LAUNCH_ENVIRONMENT, launchLine, type LaunchLine } from "../../../src/sandbox/process/launch-line.ts";
import { findPrograms } from "../../../src/sandbox/process/programs.ts";
import { readablePrograms } from "../../../src/sandbox/process/stage.ts";
import { Worker } from "../../../src/sandbox/process/worker.ts";
import { read, statusLine } from "../../../src/sandbox/process/process-table.ts";
import { hasBubblewrap } from "../isolations.ts";
import { jobOf, NEVER, selfTestParts } from "./bench.ts";
import { Run } from "../../../src/sandbox/process/run.ts";

const isRoot = process.getuid?.() === 0;
if (!isRoot) process.stderr.write("not root: what the sandbox does as root is skipped\n");

const KERNEL = { dataKb: 1_000_000, cpuSeconds: 70 };

describe("launch line of a worker", () => {
  const programs = findPrograms();

  it("grants JavaScript nothing, and Python only its interpreter's files", () => {
    const alone = { bubblewrap: "", setpriv: true, dropTo: undefined } as const;
    for (const language of ["javascript", "python"] as const) {
      const line = launchLine(language, programs, alone, KERNEL);
      const allowed = line.filter((word) => word.startsWith("--allow"));
      expect(allowed).toEqual(language === "python" ? [`--allow-read=${programs.pyodide}`] : []);
      for (const what of ["net", "env", "run", "write", "sys", "ffi", "import"])
        expect(line).toContain(`--deny-${what}`);
    }
  });

  it("sets each limit in its own command before starting anything", () => {
    const line = launchLine(
      "javascript",
      programs,
      { bubblewrap: "", setpriv: true, dropTo: 65_534 },
      KERNEL,
    );
    expect(line.slice(0, 3)).toEqual([
      "/bin/sh",
      "-c",
      "{ echo 1000 > /proc/self/oom_score_adj; } 2> /dev/null; exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- " +
        "9>&-; ulimit -c 0 && ulimit -f 0 && ulimit -n 256 && ulimit -t 70 && ulimit -d 1000000 && exec " +
        '"$@"',
    ]);
  });

  it("disables graphics and home, with and without bubblewrap", () => {
    const line = launchLine(
      "javascript",
      programs,
      { bubblewrap: "as-user", setpriv: false, dropTo: undefined },
      KERNEL,
    );
    const inside = line.flatMap((word, at) => (word === "--setenv" ? [line.slice(at + 1, at + 3)] : []));
    for (const environment of [LAUNCH_ENVIRONMENT, Object.fromEntries(inside)]) {
      expect(environment).toMatchObject({ DENO_WEBGPU_BACKEND: "none", HOME: "/proc/none" });
    }
  });

  it("says what is missing without Deno", () => {
    expect(() => findPrograms("sunos-sparc")).toThrow("There is no Deno for sunos-sparc");
  });
});

/** A checkout only its owner can read. */
let hidden: string;
beforeAll(async () => {
  hidden = await mkdtemp(path.join(os.tmpdir(), "toolgate-hidden-"));
  await chmod(hidden, 0o700);
  await cp(findPrograms().guest, path.join(hidden, "guest"), { recursive: true });
});
afterAll(async () => await rm(hidden, { recursive: true }));

describe.runIf(isRoot)("as root", () => {
  it("runs workers as an unprivileged user with readable copies of the programs", async () => {
    const found = { ...findPrograms(), guest: path.join(hidden, "guest") };
    const programs = await readablePrograms(found, true);
    expect(programs.guest).not.toBe(found.guest);
    expect(await readablePrograms(found, true)).toEqual(programs);
    const line = launchLine(
      "javascript",
      programs,
      { bubblewrap: "", setpriv: true, dropTo: 65_534 },
      KERNEL,
    );
    const worker = await Worker.start({
      language: "javascript",
      line,
      input: [],
      timeoutMs: 100_000,
      signal: NEVER,
    });
    expect(statusLine(worker.leaf, "Uid")?.split(/\s+/)).toEqual(["65534", "65534", "65534", "65534"]);
    expect(statusLine(worker.leaf, "Groups")).toBe("");
    expect(statusLine(worker.leaf, "CapBnd")).toBe("0000000000000000");
    worker.end();
    await worker.process.closed;
    await rm(path.dirname(programs.guest), { recursive: true });
  });

  it("uses the programs in place if everyone can read them", async () => {
    const found = findPrograms();
    expect(await readablePrograms(found, false)).toEqual(found);
  });
});

/** The isolation of an unprivileged user; root starts it through setpriv. */
const asPlainUser = (line: LaunchLine): LaunchLine =>
  isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", ...line] : line;

describe("as an unprivileged user", () => {
  const enclosures = [
    { bubblewrap: "", setpriv: true, dropTo: undefined },
    ...(hasBubblewrap() ? [{ bubblewrap: "as-user", setpriv: false, dropTo: undefined } as const] : []),
  ] as const;

  it.each(enclosures)("runs workers with $bubblewrap and the limits", async (enclosure) => {
    const programs = isRoot ? await readablePrograms(findPrograms(), true) : findPrograms();
    const { limits } = await selfTestParts("process");
    const dataKb = Math.ceil(limits.dataMb.javascript * 1024);
    const line = asPlainUser(launchLine("javascript", programs, enclosure, { dataKb, cpuSeconds: 70 }));
    const worker = await Worker.start({
      language: "javascript",
      line,
      input: [],
      timeoutMs: 100_000,
      signal: NEVER,
    });
    expect(statusLine(worker.leaf, "NoNewPrivs")).toBe("1");
    expect(read(`/proc/${worker.leaf}/oom_score_adj`)).toBe("1000\n");
    const outcome = await new Run(worker, jobOf("export default 6 * 7"), limits, NEVER).done;
    expect(outcome).toMatchObject({ status: "succeeded", result: 42, exitCode: 0 });
  });
});

describe("a failed spawn", () => {
  it("reports its error and ends", async () => {
    const said: string[] = [];
    const process = new GuestProcess(["/nowhere/at/all"]);
    process.onStderr = (bytes) => said.push(bytes.toString());
    expect(await process.closed).toEqual({ code: 127, signal: null });
    expect(said.join("")).toContain("ENOENT");
    process.kill();
  });
});
