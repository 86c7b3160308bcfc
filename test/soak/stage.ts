import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { z } from "zod";
import { startWorld, type ServedGateway, type World } from "../bench/world.ts";
import type { Subject } from "./samples.ts";
import { GrpcCaller } from "./grpc-caller.ts";
import { HttpCaller } from "./http-caller.ts";
import type { SoakOptions } from "./options.ts";
import { Payer } from "./payer.ts";

const ready = z.object({ metrics_address: z.string() });

/** Initial balance of funded accounts: more than an hour spends. */
const USDC = "1000000";
/** Accounts without money, which get quotes. */
const POOR = 20;

/** The gateway as `serve` runs it, with real dependencies, and its callers. */
export interface Stage {
  readonly world: World;
  readonly gateway: ServedGateway;
  readonly subject: Subject;
  readonly http: HttpCaller;
  readonly grpc: GrpcCaller;
  readonly payer: Payer;
  /** API keys of funded accounts and of some without money. */
  readonly rich: readonly string[];
  readonly poor: readonly string[];
  /** Closes the callers' connections; new calls open new ones. */
  hangUp(): Promise<void>;
  close(): Promise<void>;
}

/** @param accounts number of funded accounts */
export async function openStage({
  accounts,
  inMemory,
}: Pick<SoakOptions, "accounts" | "inMemory">): Promise<Stage> {
  const world = await startWorld(inMemory);
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-soak-"));
  const memoryFile = path.join(folder, "memory.json");
  const end = async () => {
    await world.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [rich, poor] = [await world.createAccounts(accounts, USDC), await world.createAccounts(POOR)];
    const gateway = await world.serve({
      env: {
        METRICS_PORT: "0",
        // Invalid keys are counted per address: each comes from another.
        TRUSTED_PROXY_HOPS: "1",
        SOAK_MEMORY_FILE: memoryFile,
        NODE_OPTIONS: `--import=${import.meta.resolve("./collect-garbage.mjs")}`,
      },
    });
    const { metrics_address: metricsAddress } = ready.parse(gateway.server.ready);
    const { pid } = gateway.server;
    if (pid === undefined) throw new Error("the gateway has ended");
    const http = new HttpCaller(gateway.httpPort);
    const grpc = new GrpcCaller(gateway.grpcPort);
    return {
      world,
      gateway,
      subject: {
        pid,
        metricsUrl: `http://${metricsAddress}/metrics`,
        memoryFile,
        databaseUrl: world.databaseUrl,
      },
      http,
      grpc,
      payer: await Payer.open(world),
      rich,
      poor,
      async hangUp() {
        await http.hangUp();
        grpc.hangUp();
      },
      async close() {
        await http.hangUp();
        grpc.hangUp();
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/** A key that was never created. */
export function unknownKey(apiKey: string): string {
  return apiKey.slice(0, -24) + randomBytes(12).toString("hex");
}
