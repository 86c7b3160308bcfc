import process from "node:process";
import { BoundedText } from "./guest-output.ts";
import { GuestProcess } from "./guest-process.ts";
import { launchLine, type Enclosure, type LaunchLine } from "./launch-line.ts";
import { raisePriority } from "./priority.ts";
import { usageOf } from "./process-table.ts";
import { findPrograms, type Programs } from "./programs.ts";
import { readablePrograms, versionOf } from "./stage.ts";
import { findWheels, type Wheel } from "./wheels.ts";
import { START_CPU_SECONDS } from "./limits.ts";
import { Worker } from "./worker.ts";

/** `required` needs bubblewrap, `auto` uses it if it works, `process` does without. */
export type Isolation = "auto" | "required" | "process";

export interface Setup {
  readonly programs: Programs;
  /** Of the programs; another one after an update. */
  readonly version: string;
  readonly enclosure: Enclosure;
  /** Whether workers that start at low priority can be raised to the gateway's. */
  readonly canRaise: boolean;
  /** RLIMIT_DATA usage of an idle JavaScript worker, MiB; mostly threads, which depend on the cores. */
  readonly baseDataMb: number;
  readonly wheels: readonly Wheel[];
  /** Why `auto` does not use bubblewrap. */
  readonly withoutBubblewrap: string | undefined;
}

export interface SetupOptions {
  readonly isolation: Isolation;
  readonly wheelsDir: string | undefined;
  readonly startMs: number;
}

const NEVER = new AbortController().signal;

/** The user without privileges, "nobody" on most systems. */
const NOBODY = 65_534;

/** Finds the programs and the strongest isolation here. @throws Error naming what is missing */
export async function setUp({ isolation, wheelsDir, startMs }: SetupOptions): Promise<Setup> {
  if (process.platform !== "linux") {
    throw new Error(
      `The built-in sandbox needs Linux: ${process.platform} does not keep its limits. Set ` +
        "sandbox.kubernetes, or SANDBOX_ISOLATION=off.",
    );
  }
  const wheels = wheelsDir === undefined ? [] : await findWheels(wheelsDir);
  const found = findPrograms();
  const isRoot = process.getuid?.() === 0;
  const complaints: string[] = [];
  for (const enclosure of enclosures(isolation, isRoot)) {
    const programs =
      enclosure.dropTo === undefined ? found : await readablePrograms(found, enclosure.bubblewrap === "");
    const line = launchLine("javascript", programs, enclosure, {
      dataKb: undefined,
      cpuSeconds: START_CPU_SECONDS,
    });
    const complaint = await launchProblem(line);
    if (complaint !== undefined) {
      complaints.push(complaint);
      continue;
    }
    const idle = await Worker.start({
      language: "javascript",
      line,
      input: [],
      timeoutMs: startMs,
      isLow: true,
      signal: NEVER,
    });
    const baseDataMb = usageOf(idle.leaf)?.dataMb ?? 0;
    const canRaise = await raisePriority(idle.process.pid ?? 0, idle.leaf);
    idle.end();
    const withoutBubblewrap = isolation === "auto" && enclosure.bubblewrap === "" ? complaints[0] : undefined;
    const version = await versionOf(found);
    return { programs, version, enclosure, canRaise, baseDataMb, wheels, withoutBubblewrap };
  }
  const advice =
    isolation === "required"
      ? "bubblewrap does not work here: install it, and let this user make namespaces"
      : "No worker could be started";
  throw new Error(`${advice}. Attempts failed with: ${complaints.join("; ")}`);
}

/** Candidates, strongest first. */
function enclosures(isolation: Isolation, isRoot: boolean): readonly Enclosure[] {
  const namespaces: Enclosure[] = [{ bubblewrap: "as-user", setpriv: false, dropTo: undefined }];
  if (isRoot) namespaces.unshift({ bubblewrap: "as-root", setpriv: true, dropTo: NOBODY });
  const alone: Enclosure[] = [{ bubblewrap: "", setpriv: true, dropTo: isRoot ? NOBODY : undefined }];
  if (isolation === "required") return namespaces;
  return isolation === "process" ? alone : [...namespaces, ...alone];
}

/** Runs `deno --version` with the launch line. @returns the error; undefined if it works */
async function launchProblem(line: LaunchLine): Promise<string | undefined> {
  const run = line.indexOf("run");
  const [command, ...args] = line;
  const process = new GuestProcess([command, ...args.slice(0, run - 1), "--version"]);
  process.endInput();
  const stderr = new BoundedText(1_000);
  process.onStderr = (bytes) => void stderr.append(bytes);
  const { code } = await process.closed;
  return code === 0 ? undefined : stderr.text().trim() || `ended with code ${code}`;
}
