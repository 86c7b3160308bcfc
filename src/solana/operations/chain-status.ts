import { z } from "zod";
import type { ChainStatus, ChainMonitor, EndpointStatus } from "../../app/operations/operations-queries.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Endpoint, RpcRequest } from "../rpc/endpoint.ts";
import { lamportsRequest } from "../payments/relay-requests.ts";
import { RpcError, RpcFailure } from "../rpc/rpc-failure.ts";
import type { SolanaRpc } from "../rpc/rpc.ts";
import type { Treasury } from "../core/treasury.ts";
import { balanceRequest } from "../treasury/treasury-balance.ts";

/** Time limit for all requests to one endpoint, ms. */
const LIMIT_MS = 2_000;

const slotSchema = z.int().nonnegative().transform(BigInt);

interface Look {
  endpoint: EndpointStatus;
  held: MicroUsd | undefined;
  lamports: bigint | undefined;
}

/** Reads the health, the treasury and the fee payer from every endpoint in parallel. */
export class SolanaStatus implements ChainMonitor {
  readonly #rpc: SolanaRpc;
  readonly #treasury: Treasury;

  /** @param rpc shared with payment verification, so that each endpoint has one circuit breaker */
  constructor(rpc: SolanaRpc, treasury: Treasury) {
    this.#rpc = rpc;
    this.#treasury = treasury;
  }

  async check(feePayer: string | undefined): Promise<ChainStatus> {
    const looks = await Promise.all(this.#rpc.endpoints.map((endpoint) => this.#lookAt(endpoint, feePayer)));
    return {
      endpoints: looks.map(({ endpoint }) => endpoint),
      held: looks.find(({ held }) => held !== undefined)?.held,
      lamports: looks.find(({ lamports }) => lamports !== undefined)?.lamports,
    };
  }

  async #lookAt(endpoint: Endpoint, feePayer: string | undefined): Promise<Look> {
    const signal = AbortSignal.timeout(LIMIT_MS);
    const since = performance.now();
    const slot = endpoint.ask(slotRequest(signal)).then(
      (slot): EndpointStatus => {
        const latencyMs = Math.round(performance.now() - since);
        return { host: endpoint.host, slot, latencyMs, problem: undefined };
      },
      (error: unknown): EndpointStatus => {
        return {
          host: endpoint.host,
          slot: undefined,
          latencyMs: undefined,
          problem: problemOf(error, endpoint.host),
        };
      },
    );
    const [look, held, lamports] = await Promise.all([
      slot,
      endpoint.ask(balanceRequest(this.#treasury, "finalized", signal)).catch(() => undefined),
      feePayer === undefined
        ? undefined
        : endpoint.ask(lamportsRequest(feePayer, signal)).catch(() => undefined),
    ]);
    return { endpoint: look, held, lamports };
  }
}

function slotRequest(signal: AbortSignal): RpcRequest<bigint> {
  return {
    method: "getSlot",
    params: [{ commitment: "confirmed" }],
    read: (answer) => slotSchema.parse(answer),
    signal,
  };
}

/** An endpoint's own message may repeat the API key of the request: none of it is shown. */
function problemOf(error: unknown, host: string): string {
  if (error instanceof RpcError) return `answers with the JSON-RPC error ${error.code}`;
  if (!(error instanceof RpcFailure)) return `did not answer within ${LIMIT_MS / 1_000} s`;
  switch (error.kind) {
    case "malformed":
      return "gives answers that cannot be used";
    case "unhealthy":
      return "says that it is not healthy";
    case "not_here":
      return "does not know";
    default:
      return error.message.slice(`${host}: `.length);
  }
}
