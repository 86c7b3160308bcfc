import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { ConfigError, type ServeConfig } from "../config/config.ts";
import type { Log } from "../domain/core/log.ts";
import type { Gateway } from "../gateway.ts";
import { outputFor } from "./command.ts";

/** @returns warnings. @throws ConfigError that names each problem */
export async function requirePreconditions(config: ServeConfig, log: Log): Promise<readonly string[]> {
  const { checkPreconditions } = await import("../start-checks.ts");
  const { problems, warnings } = await checkPreconditions(config, log);
  if (problems.length > 0) throw new ConfigError(problems);
  return warnings;
}

/** Says in the log, and as JSON if wanted, where the servers listen. */
export function reportReady(
  gateway: Pick<Gateway, "baseUrl" | "grpcAddress" | "metricsAddress" | "payTo">,
  log: Log,
  json: boolean,
): void {
  const { baseUrl, grpcAddress, metricsAddress, payTo } = gateway;
  log.info({ baseUrl, grpcAddress, metricsAddress, payTo }, "ready");
  if (!json) return;
  outputFor(true).record({
    base_url: baseUrl,
    grpc_address: grpcAddress,
    ...(metricsAddress !== undefined && { metrics_address: metricsAddress }),
    pay_to: payTo,
  });
}

/** Returns what the start used (a third of the process) to the system; V8 by itself keeps it for hours. */
export function releaseStartMemory(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc({ type: 'major', flavor: 'last-resort' })");
}
