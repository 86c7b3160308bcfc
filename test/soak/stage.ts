import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { z } from "zod";
import { startWorld, type World } from "../bench/world.ts";
import type { Dice } from "../lab-kit/random.ts";
import type { LabRun } from "../lab-kit/run.ts";
import { GrpcCaller, HttpCaller } from "./callers.ts";
import type { Subject } from "./samples.ts";

const ready = z.object({ metrics_address: z.string() });

/** Initial balance of funded accounts: more than an hour spends. */
const USDC = "1000000";
/** Accounts without money, which get quotes. */
const POOR = 20;

/** The gateway as `serve` runs it, with real dependencies, and its callers. */
export interface Stage {
  readonly world: World;
  readonly subject: Subject;
  readonly http: HttpCaller;
  readonly grpc: GrpcCaller;
  readonly dice: Dice;
  /** API keys of funded accounts and of some without money. */
  readonly rich: readonly string[];
  readonly poor: readonly string[];
  /** Closes the callers' connections; new calls open new ones. */
  hangUp(): Promise<void>;
}

/** @param small with few accounts, and a database in memory */
export async function openStage(run: LabRun, small: boolean): Promise<Stage> {
  const folder = await run.open(
    () => mkdtemp(path.join(os.tmpdir(), "toolgate-soak-")),
    (made) => rm(made, { recursive: true, force: true }),
  );
  const world = await run.open(
    () => startWorld(small),
    (started) => started.close(),
  );
  const memoryFile = path.join(folder, "memory.json");
  const [rich, poor] = [await world.createAccounts(small ? 20 : 500, USDC), await world.createAccounts(POOR)];
  const { server, port, grpcPort } = await world.serve({
    env: {
      METRICS_PORT: "0",
      // Invalid keys are counted per address: each comes from another.
      TRUSTED_PROXY_HOPS: "1",
      SOAK_MEMORY_FILE: memoryFile,
      NODE_OPTIONS: `--import=${import.meta.resolve("./collect-garbage.mjs")}`,
    },
  });
  const metricsUrl = `http://${ready.parse(server.ready).metrics_address}/metrics`;
  const { pid } = server;
  if (pid === undefined) throw new Error("the gateway has ended");
  const [http, grpc] = [new HttpCaller(port), new GrpcCaller(grpcPort)];
  const hangUp = async () => {
    await http.hangUp();
    grpc.hangUp();
  };
  const callers = { http, grpc, hangUp };
  await run.open(async () => callers, hangUp);
  const subject = { pid, metricsUrl, memoryFile, databaseUrl: world.databaseUrl };
  return { ...{ world, subject, rich, poor, dice: run.dice }, ...callers };
}
