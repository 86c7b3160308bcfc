import { readlinkSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { GuestProcess } from "./guest-process.ts";
import type { Enclosure, LaunchLine } from "./launch-line.ts";
import { read, statusLine } from "./process-table.ts";
import { frameOf } from "./worker.ts";

const START_TIMEOUT_MS = 60_000;

/** The kernel kills at once, but a busy machine reports it late. */
const PARENT_DEATH_TIMEOUT_MS = 20_000;

/** Maximum hard limits of a worker, by the names in /proc/PID/limits. */
const LIMITS: readonly (readonly [name: string, most: number])[] = [
  ["Max cpu time", 3_600],
  ["Max file size", 0],
  ["Max data size", 2 ** 40],
  ["Max core file size", 0],
  ["Max open files", 256],
];

/** Checks the kernel's view of an idle worker. @returns the first failed check */
export function kernelProblem(
  leaf: number,
  { isRoot, enclosure }: { readonly isRoot: boolean; readonly enclosure: Enclosure },
): { check: string; how: string } | undefined {
  const limits = read(`/proc/${leaf}/limits`) ?? "";
  for (const [name, most] of LIMITS) {
    const hard = new RegExp(String.raw`^${name}\s+\S+\s+(\S+)`, "m").exec(limits)?.[1] ?? "missing";
    if (!(Number(hard) <= most))
      return { check: "limits of the kernel", how: `“${name}” of a worker is ${hard}` };
  }
  if (statusLine(leaf, "NoNewPrivs") !== "1")
    return { check: "no new privileges", how: "a worker could gain some" };
  if (Number.parseInt(statusLine(leaf, "CapEff") ?? "1", 16) !== 0)
    return { check: "no capabilities", how: "a worker has some" };
  const uid = statusLine(leaf, "Uid")?.split(/\s+/)[0];
  if (isRoot && enclosure.dropTo !== undefined && uid !== String(enclosure.dropTo)) {
    return { check: "an unprivileged user", how: `a worker runs as user ${uid}` };
  }
  if (enclosure.bubblewrap === "") return undefined;
  // Process ids outside and inside the namespace.
  if ((statusLine(leaf, "NSpid")?.split(/\s+/) ?? []).length < 2)
    return { check: "bubblewrap", how: "a worker sees this machine's processes" };
  const shared = ["net", "pid", "mnt", "ipc", "uts"].filter(
    (name) => namespaceOf(leaf, name) === namespaceOf("self", name),
  );
  return shared.length === 0
    ? undefined
    : { check: "bubblewrap", how: `a worker shares ${shared.join(", ")} with this machine` };
}

/** Returns the namespace of a process; "hidden" if the kernel does not reveal it to other users. */
function namespaceOf(pid: number | "self", name: string): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/${name}`);
  } catch {
    return "hidden";
  }
}

/** Prints when it starts, then runs forever. */
const WAITS = { code: 'console.log("running"); setInterval(() => {}, 1_000);', nonce: "0" };

/** Starts a worker below a shell, kills the shell, and returns whether the guest ended. */
export async function diesWithParent(
  line: LaunchLine,
  timeoutMs = PARENT_DEATH_TIMEOUT_MS,
): Promise<boolean> {
  const parent = new GuestProcess(["/bin/sh", "-c", 'exec 3<&0; "$@" <&3 & wait', "sh", ...line]);
  let output = "";
  const hasBegun = new Promise<void>((resolve) => {
    parent.onStdout = (bytes) => {
      output += bytes.toString("latin1");
      if (output.includes("running")) resolve();
    };
  });
  parent.write(frameOf(WAITS));
  await Promise.race([hasBegun, parent.closed, after(START_TIMEOUT_MS)]);
  parent.killFirst();
  // The output stays open while a process has it open.
  const ended = await Promise.race([parent.closed.then(() => true), after(timeoutMs)]);
  if (!ended) parent.killGroup();
  return ended && output.includes("running");
}

async function after(ms: number): Promise<false> {
  return await setTimeout(ms, false as const, { ref: false });
}
