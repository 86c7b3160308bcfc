import { toBase64, isObject, jsonObject } from "./bytes.ts";

export interface RecentBlockhash {
  readonly blockhash: string;
  readonly lastValidBlockHeight: bigint;
}

export type OnChain = "confirmed" | "absent" | { readonly failed: string };

/** An error response of the RPC server, or no response. */
export class RpcError extends Error {
  /** A final error response: a retry does not help. */
  readonly refused: boolean;

  constructor(message: string, refused: boolean) {
    super(message);
    this.name = "RpcError";
    this.refused = refused;
  }
}

/** Time for one answer, ms. */
const TIMEOUT_MS = 10_000;
/** https://solana.com/docs/rpc: preflight failure, signature verification failure, invalid parameters. */
const REFUSALS = new Set([-32002, -32003, -32602]);

/** The few methods of Solana's JSON-RPC that a payment needs, by fetch. */
export class SolanaRpc {
  readonly url: string;
  readonly #fetch: typeof fetch;

  constructor(url: string, fetchFn: typeof fetch) {
    this.url = url;
    this.#fetch = fetchFn;
  }

  async latestBlockhash(): Promise<RecentBlockhash> {
    const value = valueOf(await this.#ask("getLatestBlockhash", [{ commitment: "confirmed" }]));
    const { blockhash, lastValidBlockHeight } = isObject(value) ? value : {};
    if (typeof blockhash !== "string" || typeof lastValidBlockHeight !== "number") throw unreadable();
    return { blockhash, lastValidBlockHeight: BigInt(lastValidBlockHeight) };
  }

  /** Sends signed bytes; to send the same again is harmless. */
  async send(transaction: Uint8Array, preflight: boolean): Promise<void> {
    const options = {
      encoding: "base64",
      skipPreflight: !preflight,
      preflightCommitment: "confirmed",
      maxRetries: 0,
    };
    await this.#ask("sendTransaction", [toBase64(transaction), options]);
  }

  async statusOf(signature: string): Promise<OnChain> {
    const value = valueOf(
      await this.#ask("getSignatureStatuses", [[signature], { searchTransactionHistory: true }]),
    );
    if (!Array.isArray(value)) throw unreadable();
    const status: unknown = value[0];
    if (!isObject(status)) return "absent";
    const { err, confirmationStatus } = status;
    const seen = confirmationStatus === "confirmed" || confirmationStatus === "finalized";
    if (!seen) return "absent";
    return err === null || err === undefined ? "confirmed" : { failed: JSON.stringify(err) };
  }

  /** At `finalized`: a block height that nothing takes back. */
  async blockHeight(): Promise<bigint> {
    const height = await this.#ask("getBlockHeight", [{ commitment: "finalized" }]);
    if (typeof height !== "number") throw unreadable();
    return BigInt(height);
  }

  async #ask(method: string, params: unknown[]): Promise<unknown> {
    const response = await this.#fetch(this.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const body = jsonObject(await response.text());
    const error = body?.["error"];
    if (isObject(error)) {
      const code = error["code"];
      throw new RpcError(
        `${method}: ${String(error["message"])}`,
        typeof code === "number" &&
          REFUSALS.has(code) &&
          !/already.*processed/i.test(String(error["message"])),
      );
    }
    if (!response.ok || !body || !("result" in body))
      throw new RpcError(`${method}: HTTP ${response.status}`, false);
    return body["result"];
  }
}

function valueOf(result: unknown): unknown {
  return isObject(result) ? result["value"] : undefined;
}

function unreadable(): RpcError {
  return new RpcError("the RPC server's answer cannot be read", false);
}
