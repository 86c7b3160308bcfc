import { pino } from "pino";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { readConfig, requireServeConfig } from "../../src/config/config.ts";
import { startGateway, type Gateway } from "../../src/gateway.ts";
import { Faults } from "../../src/localchain/faults.ts";
import { createHttpServer } from "../../src/localchain/server.ts";
import { closeServer, listen } from "../support/servers.ts";
import { request, startGround, type Agent } from "../support/world.ts";

/** The paid call of these tests, and its price in micro-USD. */
const TOOL = "vram_estimate";
const PARAMS = { model: "llama-3.1-8b" };
export const PRICE = 1_000n;

/** More slots than finality takes. */
const FINAL = 40;

/** Interval of the watch, ms; the other jobs follow it. */
const WATCH = { WATCH_INTERVAL_MS: "100", METRICS_PORT: "0" };

export const soon = { interval: 50 };

/** A line of a gateway's log. */
export interface Line {
  level: number;
  msg: string;
  [member: string]: unknown;
}

export type Scene = Awaited<ReturnType<typeof setScene>>;
export type Watching = Awaited<ReturnType<typeof watch>>;

/**
 * A chain behind two endpoints, a database, and gateways that keep the treasury.
 * @param slotMs 0: slots only on request
 */
export async function setScene(slotMs?: number) {
  const ground = await startGround({}, undefined, slotMs);
  const secondFaults = new Faults();
  const second = createHttpServer(ground.chain.chain, secondFaults);
  const secondUrl = `http://127.0.0.1:${await listen(second)}`;
  const gateways = new Set<Gateway>();
  return {
    ...ground,
    /** Faults of the second endpoint; `chain.faults` are the first one's. */
    secondFaults,
    secondUrl,
    payTo: ground.chain.controls.usdcAccount(ground.treasury.publicKey).toBase58(),
    /** Finalizes the chain's transactions. */
    finalize: () => ground.chain.chain.advance(FINAL),
    async start(settings: Record<string, string> = {}) {
      const urls = { SOLANA_RPC_URLS: `${ground.chain.url},${secondUrl}` };
      const watching = await watch({ ...ground.settings, ...urls, ...WATCH, ...settings });
      const close = async () => {
        gateways.delete(watching);
        await watching.close();
      };
      gateways.add(watching);
      return { ...watching, close };
    },
    async close() {
      for (const gateway of gateways) await gateway.close();
      await closeServer(second);
      await ground.close();
    },
  };
}

/**
 * The scene of a file, with one gateway; its faults end with each test.
 * @param slotMs 0: slots only on request
 * @param before runs before the gateway starts
 */
export function useScene(slotMs?: number, before = async () => {}): Scene & { gateway: Watching } {
  const scene = {} as Scene & { gateway: Watching };
  beforeAll(async () => {
    Object.assign(scene, await setScene(slotMs));
    await before();
    scene.gateway = await scene.start();
  });
  afterEach(() => {
    for (const faults of [scene.chain.faults, scene.secondFaults]) faults.clear();
  });
  afterAll(async () => {
    const violations = await scene.violations();
    await scene.close();
    expect(violations).toEqual([]);
  });
  return scene;
}

/** A gateway with the treasury watch, its log and its metrics. */
async function watch(settings: Record<string, string>) {
  const log: Line[] = [];
  const logger = pino(
    { level: "info" },
    { write: (line: string) => void log.push(JSON.parse(line) as Line) },
  );
  const gateway = await startGateway(requireServeConfig(readConfig(settings)), logger);
  /** Makes the paid call; `more` is added to its tool and params. */
  const buy = (agent: Agent, headers: Record<string, string> = {}, more: object = {}) => {
    const body = JSON.stringify({ tool: TOOL, params: PARAMS, ...more });
    return request(gateway, agent, "/v1/mcp/tools/call", { method: "POST", body }, headers);
  };
  return {
    ...gateway,
    log,
    /** The value of a metric, with labels in Prometheus notation. */
    figure: (name: string, labels?: string) => figureOf(gateway.metricsAddress, name, labels),
    buy,
    /** Requests a quote of the paid call. */
    async quote(agent: Agent) {
      const { status, body } = await buy(agent);
      if (status !== 402) throw new Error(`no quote but ${status} ${JSON.stringify(body)}`);
      return body.quote as { quote_id: string };
    },
  };
}

/** One metric of an instance; undefined while it has no value. */
export async function figureOf(
  address: string | undefined,
  name: string,
  labels = "",
): Promise<number | undefined> {
  const text = await (await fetch(`http://${address}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${name}${labels} `));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(" ")));
}
