import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { readServeConfig } from "../../src/config/config.ts";
import type { Log } from "../../src/domain/core/log.ts";
import { openObservation, type Observation } from "../../src/gateway/observation.ts";
import { overRounds, type Plan, type Ratio } from "./measure.ts";
import type { World } from "./world.ts";

/** Requests at once, and the time until the next ones, ms: as many a second as a gateway answers. */
const [GROUP, PAUSE_MS] = [256, 10];

const log: Log = { info() {}, warn() {}, error() {} };

/**
 * Measures what reports of requests take of the CPU: it does in this process what the gateway does for the
 * reports of a free call, with their export. Two processes of the same program differ by more.
 * @param settings that switch reports on
 * @returns microseconds a request, in excess of those without the settings
 */
export async function observationCost(
  { databaseUrl, rpcUrl, treasuryOwner }: World,
  settings: Readonly<Record<string, string>>,
  { rounds, windowMs }: Plan,
): Promise<Ratio> {
  const required = {
    DATABASE_URL: databaseUrl,
    SOLANA_RPC_URLS: rpcUrl,
    TREASURY_OWNER: treasuryOwner,
    LOG_LEVEL: "error",
  };
  const open = (own: Readonly<Record<string, string>>) =>
    openObservation(readServeConfig({ ...required, ...own }), "bench", log, () => {});
  const [observed, unobserved] = [await open(settings), await open({})];
  const costs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const without = await microsOf(unobserved, windowMs);
    costs.push((await microsOf(observed, windowMs)) - without);
  }
  await Promise.all([observed.close(), unobserved.close()]);
  return overRounds(costs);
}

/** CPU time of this process per request, microseconds. */
async function microsOf({ requests }: Observation, windowMs: number): Promise<number> {
  const [began, before] = [performance.now(), process.cpuUsage()];
  let count = 0;
  while (performance.now() - began < windowMs) {
    for (let at = 0; at < GROUP; at++) {
      const record = requests.start("http", "req_0123456789abcdefghijk", {});
      record.method = "ToolService/CallTool";
      record.tool = "echo";
      if (record.span) record.route = "POST /v1/mcp/tools/call";
      requests.end(record, 200, 100);
    }
    count += GROUP;
    await sleep(PAUSE_MS);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}
