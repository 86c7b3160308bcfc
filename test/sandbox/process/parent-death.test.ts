import { spawn } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { read } from "../../../src/sandbox/process/process-table.ts";
import { isolations } from "../isolations.ts";
import { descendants } from "../process-watch.ts";

/** Filters living processes; zombies do not count. */
const alive = (pids: readonly number[]) =>
  pids.filter(
    (pid) => !/^(|Z.*|X.*)$/.test(/^State:\s+(\S)/m.exec(read(`/proc/${pid}/status`) ?? "")?.[1] ?? ""),
  );

async function until(holds: () => boolean, mostMs: number): Promise<void> {
  for (const end = performance.now() + mostMs; !holds() && performance.now() < end;) await sleep(50);
}

describe.each(isolations())("a killed gateway, isolation $isolation", ({ isolation }) => {
  it("ends its guests and idle workers", async () => {
    const host = spawn(
      process.execPath,
      [path.join(import.meta.dirname, "host", "main.ts"), isolation, "1"],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    await new Promise((resolve) => host.stdout.once("data", resolve));
    const deno = () =>
      descendants(host.pid!).filter((pid) => (read(`/proc/${pid}/cmdline`) ?? "").includes("javascript.mjs"));
    const workers = isolation === "required" ? 4 : 2;
    await until(() => deno().length >= workers, 60_000);
    const children = descendants(host.pid!);
    expect(deno().length).toBeGreaterThanOrEqual(workers);
    host.kill("SIGKILL");
    await until(() => alive(children).length === 0, 10_000);
    expect(alive(children).map((pid) => read(`/proc/${pid}/cmdline`))).toEqual([]);
  });
});
