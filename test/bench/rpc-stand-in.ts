import { z } from "zod";
import { ServerProcess } from "./server-process.ts";

const ready = z.object({ port: z.int() });
const response = z.object({ result: z.unknown() });
const countsResult = z.record(z.string(), z.number());

/** A payment as `getTransaction` returns it, and its memo. */
export interface MadePayment {
  readonly answer: unknown;
  readonly memo: string;
}

/** A payment registered with the stand-in. */
export interface Landed {
  readonly txSignature: string;
  readonly memo: string;
}

/** An RPC node that reports many copies of one payment; see rpc-stand-in/main.ts. */
export class RpcStandIn {
  readonly url: string;
  readonly server: ServerProcess;

  private constructor(server: ServerProcess) {
    this.server = server;
    this.url = `http://127.0.0.1:${ready.parse(server.ready).port}/`;
  }

  /** @param chainUrl the local chain, which answers everything else */
  static async start(chainUrl: string): Promise<RpcStandIn> {
    return new RpcStandIn(await ServerProcess.start("test/bench/rpc-stand-in/main.ts", { args: [chainUrl] }));
  }

  /** Replaces the registered payments. */
  async land(made: MadePayment, payments: readonly Landed[]): Promise<void> {
    await rpcRequest(this.url, "bench_land", [
      made,
      payments.map(({ txSignature, memo }) => [txSignature, memo]),
    ]);
  }

  /** Sets the response delay of payments, ms. */
  async setDelay(ms: number): Promise<void> {
    await rpcRequest(this.url, "bench_slow", [ms]);
  }

  /** Returns the number of requests by method. */
  async counts(): Promise<Readonly<Record<string, number>>> {
    return countsResult.parse(await rpcRequest(this.url, "bench_counts", []));
  }
}

/** Returns the result of an RPC request, null if unknown. @throws Error for an error response */
export async function rpcRequest(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const text = await answer.text();
  const { success, data } = response.safeParse(JSON.parse(text));
  if (!success || data.result === undefined) throw new Error(`${method}: ${text.slice(0, 500)}`);
  return data.result;
}
