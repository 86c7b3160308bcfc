import { spawn } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { read } from "../../../src/sandbox/process/process-table.ts";
import { firstLine } from "../../support/child.ts";
import { until } from "../../support/until.ts";
import { isolations } from "../isolations.ts";
import { descendants } from "../process-watch.ts";

/** Filters living processes; zombies do not count. */
const alive = (pids: readonly number[]) =>
  pids.filter(
    (pid) => !/^(|Z.*|X.*)$/.test(/^State:\s+(\S)/m.exec(read(`/proc/${pid}/status`) ?? "")?.[1] ?? ""),
  );

describe.each(isolations())("a killed gateway, isolation $isolation", ({ isolation }) => {
  it("ends its guests and idle workers", async () => {
    const host = spawn(process.execPath, [path.join(import.meta.dirname, "host", "main.ts"), isolation, "1"]);
    await firstLine(host);
    const deno = () =>
      descendants(host.pid!).filter((pid) => (read(`/proc/${pid}/cmdline`) ?? "").includes("javascript.mjs"));
    const workers = isolation === "required" ? 4 : 2;
    await until(() => deno().length >= workers);
    const children = descendants(host.pid!);
    host.kill("SIGKILL");
    const left = () => alive(children).map((pid) => read(`/proc/${pid}/cmdline`));
    await expect.poll(left).toEqual([]);
  });
});
