import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { z } from "zod";
import { ROOT } from "../tooling/command.ts";
import { restartPort } from "../support/ports.ts";

/** Debian: apt-get install prometheus. */
export const hasPrometheus = spawnSync("prometheus", ["--version"]).status === 0;

/** Prometheus with the alerts of deploy/prometheus. */
export interface Prometheus extends AsyncDisposable {
  /** Returns the data of an answer of its HTTP API, or its error as text. */
  ask<Data>(path: string, data: z.ZodType<Data>): Promise<Data | string>;
}

/**
 * Starts deploy/prometheus/start.sh on a free port.
 * @param target host:port of a gateway's metrics
 * @param more environment of the script
 */
export async function startPrometheus(
  target: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Prometheus> {
  const listen = `127.0.0.1:${await restartPort()}`;
  const folder = mkdtempSync(path.join(tmpdir(), "prometheus-"));
  const script = path.join(ROOT, "deploy/prometheus/start.sh");
  const env = { ...process.env, TARGETS: target, LISTEN: listen, DATA: folder, INTERVAL: "1s", ...more };
  const child = spawn("sh", [script], { env, stdio: "ignore" });
  const ended = once(child, "exit");
  return {
    async ask(asked, data) {
      const answer = await fetch(`http://${listen}/api/v1/${asked}`).catch(String);
      if (typeof answer === "string") return answer;
      const text = await answer.text();
      return answer.ok ? z.object({ data }).parse(JSON.parse(text)).data : text;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
