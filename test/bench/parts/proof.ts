import { setTimeout as sleep } from "node:timers/promises";
import type { Part, Target } from "../bench.ts";
import { PAID_ANSWER } from "../http-request.ts";
import { compare, type Side } from "../measure.ts";
import { makePayment, prove, quotes, type ProvedCall } from "../proofs.ts";
import { line } from "../report.ts";
import { rpcRequest } from "../rpc-request.ts";

const [ACCOUNTS, AT_ONCE] = [64, 64];
/** The part of the calls that warms a side up. */
const WARM = 1 / 6;

/** A call paid by a proof, and a loop that only fetches the transactions and reads their JSON. */
export const proof: Part = {
  name: "proof",
  title: "8. call paid by a proof",
  why: "Agents that pay each call on-chain",
  async run(bench) {
    const { world, plan } = bench;
    const node = await bench.peer("rpc", world.rpcUrl);
    const url = `http://127.0.0.1:${node.port}/`;
    // Keeps the treasury job from polling while proofs are measured.
    const gateway = await bench.serve({ env: { WATCH_INTERVAL_MS: "600000", SOLANA_RPC_URLS: url } });
    // A separate payer: the treasury job may credit it, and its calls would then use the balance.
    const [payer = "", ...keys] = await world.createAccounts(1 + ACCOUNTS);
    const [first] = await quotes(gateway.port, [payer], 1);
    if (!first) throw new Error("no quote");
    const made = await makePayment(world, first);
    const bare = await bench.peer("rpc-client", url);
    const load = bench.load();

    const verify = async (calls: readonly ProvedCall[]): Promise<void> => {
      const requests = calls.map(({ request }) => request);
      const job = { host: "127.0.0.1", port: gateway.port, requests, once: true, expect: PAID_ANSWER };
      await load.start({ ...job, connections: Math.min(AT_ONCE, calls.length) });
      while ((await load.sample()).answers < calls.length) await sleep(10);
      await load.pause();
    };
    const fetchAll = async (calls: readonly ProvedCall[]): Promise<void> => {
      const body = JSON.stringify(calls.map(({ txSignature }) => txSignature));
      const answer = await fetch(`http://127.0.0.1:${bare.port}`, { method: "POST", body });
      if (answer.status !== 200) throw new Error(await answer.text());
    };
    const side =
      ({ server }: Target, send: (calls: readonly ProvedCall[]) => Promise<void>): Side =>
      async () => {
        const calls = (await quotes(gateway.port, keys, plan.quick ? 20 : 6_000)).map(prove);
        const pairs = calls.map(({ txSignature, memo }) => [txSignature, memo]);
        await rpcRequest(url, "bench_land", [made.answer, made.memo, pairs]);
        const warm = Math.ceil(calls.length * WARM);
        await send(calls.slice(0, warm));
        const [began, before] = [performance.now(), await server.cpuSeconds()];
        await send(calls.slice(warm));
        const cpu = (await server.cpuSeconds()) - before;
        const measured = calls.length - warm;
        return {
          perSecond: (measured * 1000) / (performance.now() - began),
          cpuMicros: (cpu * 1_000_000) / measured,
        };
      };
    const rounds = await compare(side(gateway, verify), side(bare, fetchAll), plan);
    return [line("CPU, throughput", rounds, "fetch + JSON.parse", ["cpuMicros", "perSecond"])];
  },
};
