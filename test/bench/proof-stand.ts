import { setTimeout as sleep } from "node:timers/promises";
import type { LoadProcess } from "./load.ts";
import { makePayment, prove, quotes, type ProvedCall } from "./proofs.ts";
import { RpcStandIn, type MadePayment } from "./rpc-stand-in.ts";
import type { ServedGateway, World } from "./world.ts";

const ACCOUNTS = 64;
/** Keeps the treasury job from polling while proofs are measured. */
const SETTINGS = { WATCH_INTERVAL_MS: "600000" };

/** A gateway behind a stand-in RPC node that reports the payments registered with it. */
export class ProofStand {
  readonly gateway: ServedGateway;
  readonly node: RpcStandIn;
  readonly #apiKeys: readonly string[];
  readonly #made: MadePayment;

  private constructor(
    gateway: ServedGateway,
    node: RpcStandIn,
    apiKeys: readonly string[],
    made: MadePayment,
  ) {
    this.gateway = gateway;
    this.node = node;
    this.#apiKeys = apiKeys;
    this.#made = made;
  }

  /**
   * Starts both and pays one quote on the local chain as the template of all payments.
   * @param profile folder of the gateway's CPU profile
   */
  static async start(world: World, profile?: string): Promise<ProofStand> {
    const node = await RpcStandIn.start(world.rpcUrl);
    const gateway = await world.serve({ profile, env: { ...SETTINGS, SOLANA_RPC_URLS: node.url } });
    // A separate payer: another gateway's treasury job may credit it, and its calls would then use the
    // balance.
    const [payer = "", ...apiKeys] = await world.createAccounts(1 + ACCOUNTS);
    const [first] = await quotes(gateway.httpPort, [payer], 1);
    if (!first) throw new Error("nothing was quoted");
    return new ProofStand(gateway, node, apiKeys, await makePayment(world, first));
  }

  /** Quotes that many calls and lands their payments. */
  async pay(count: number): Promise<ProvedCall[]> {
    const calls = prove(await quotes(this.gateway.httpPort, this.#apiKeys, count));
    await this.node.land(this.#made, calls);
    return calls;
  }

  /** Sends each call once with this concurrency and waits for all responses. @returns duration, ms */
  async send(load: LoadProcess, calls: readonly ProvedCall[], atOnce: number): Promise<number> {
    const began = performance.now();
    await load.start({
      host: "127.0.0.1",
      port: this.gateway.httpPort,
      connections: Math.min(atOnce, calls.length),
      requests: calls.map(({ request }) => request),
      once: true,
      expect: { status: 200, body: '"receipt_id":"rcpt_' },
    });
    while ((await load.sample()).answers < calls.length) await sleep(10);
    const ms = performance.now() - began;
    await load.pause();
    return ms;
  }

  async stop(): Promise<void> {
    await Promise.allSettled([this.gateway.server.stop(), this.node.server.stop()]);
  }
}
