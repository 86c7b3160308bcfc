import { fromJsonString, type JsonObject } from "@bufbuild/protobuf";
import { errorOf, type Endpoint } from "./connect-call.ts";
import { CallError } from "./call-error.ts";
import { isObject } from "./bytes.ts";
import { ReceiptSchema, type PaymentRequired, type Receipt } from "./messages.ts";
import type { PaymentOptions } from "./options.ts";
import { payingFetch } from "./paying-fetch.ts";
import { paymentOf } from "./payment.ts";
import { canSignText } from "./signer.ts";
import { WalletSignIn } from "./wallet-sign-in.ts";

type Quote = NonNullable<PaymentRequired["quote"]>;

/** An API key of a wallet's account. */
export interface WalletKey {
  readonly keyId: string;
  readonly name: string;
  /** First characters of the secret. */
  readonly prefix: string;
}

/** Calls without an API key: `POST /x402/{tool}`, and what a wallet may do that signs in. */
export class WalletCalls {
  readonly #endpoint: Endpoint;
  readonly #paying: typeof fetch;
  readonly signIn: WalletSignIn;
  readonly #canSignIn: boolean;
  /** Whether the balance is worth a sign-in before the next call. */
  #mayHaveBalance = true;

  constructor(endpoint: Endpoint, wallet: PaymentOptions) {
    this.#endpoint = endpoint;
    this.#paying = payingFetch({ ...wallet, fetch: endpoint.fetch });
    this.signIn = new WalletSignIn(endpoint, wallet.signer);
    this.#canSignIn = canSignText(wallet.signer);
  }

  /** The balance pays if it covers the call, otherwise a payment. */
  async callTool(
    tool: string,
    params: JsonObject,
    key: string,
    signal: AbortSignal | undefined,
  ): Promise<{ result: JsonObject; receipt: Receipt | undefined }> {
    const path = pathOf(tool);
    const signed =
      this.#canSignIn && this.#mayHaveBalance && (await this.signIn.forOne("POST", path, signal));
    // A payment whose call failed stays on the balance.
    this.#mayHaveBalance = true;
    const headers = { "content-type": "application/json", "idempotency-key": key, ...signed };
    const response = await this.#paying(this.#endpoint.baseUrl + path, {
      method: "POST",
      headers,
      body: JSON.stringify(params),
      ...(signal && { signal }),
    });
    // Free tools need a sign-in.
    if (response.status === 401 && !signed && this.#canSignIn)
      return this.callTool(tool, params, key, signal);
    const { result, receipt: charged } = await answerOf(response);
    const receipt = isObject(charged) ? receiptOf(charged) : undefined;
    const paid = paymentOf(response);
    this.#mayHaveBalance = paid === undefined || paid.amount > (receipt?.debitedUsdcMicrousd ?? 0n);
    return { result: isJsonObject(result) ? result : {}, receipt };
  }

  /** The quote of an offer, which is not paid. */
  async quote(tool: string, params: JsonObject, signal: AbortSignal | undefined): Promise<Quote> {
    const { fetch, baseUrl } = this.#endpoint;
    const init = { method: "POST", body: JSON.stringify(params), ...(signal && { signal }) };
    const headers = { "content-type": "application/json" };
    const error = await errorOf(await fetch(baseUrl + pathOf(tool), { ...init, headers }));
    const quote = error.paymentRequired?.quote;
    if (!quote) throw error;
    return quote;
  }

  async createKey(name: string | undefined): Promise<WalletKey & { readonly secret: string }> {
    const { key, secret } = await this.#keys("POST", "", name === undefined ? {} : { name });
    return { ...keyOf(key), secret: String(secret) };
  }

  async keys(): Promise<WalletKey[]> {
    const { keys } = await this.#keys("GET", "");
    return Array.isArray(keys) ? keys.map(keyOf) : [];
  }

  async revokeKey(keyId: string): Promise<void> {
    await this.#keys("DELETE", `/${encodeURIComponent(keyId)}`);
  }

  async #keys(method: string, rest: string, body?: object): Promise<Record<string, unknown>> {
    const path = `/v1/keys${rest}`;
    const headers = { "content-type": "application/json", ...(await this.signIn.forOne(method, path)) };
    const { fetch, baseUrl } = this.#endpoint;
    return answerOf(
      await fetch(baseUrl + path, { method, headers, body: body ? JSON.stringify(body) : null }),
    );
  }
}

function pathOf(tool: string): string {
  return `/x402/${encodeURIComponent(tool)}`;
}

/** @throws CallError */
async function answerOf(response: Response): Promise<Record<string, unknown>> {
  if (!response.ok) throw await errorOf(response);
  const body: unknown = await response.json().catch(() => undefined);
  if (isObject(body)) return body;
  throw new CallError({ code: "UNKNOWN", message: "the answer is not one of a gateway" });
}

/** HTTP writes enum values in lower case without their prefix. */
function receiptOf({ paid_by: paidBy, status, ...receipt }: Record<string, unknown>): Receipt {
  const json = {
    ...receipt,
    paid_by: `PAID_BY_${String(paidBy).toUpperCase()}`,
    status: `RECEIPT_STATUS_${String(status).toUpperCase()}`,
  };
  return fromJsonString(ReceiptSchema, JSON.stringify(json), { ignoreUnknownFields: true });
}

function keyOf(key: unknown): WalletKey {
  const { key_id: keyId, name = "", prefix = "" } = isObject(key) ? key : {};
  return { keyId: String(keyId), name: String(name), prefix: String(prefix) };
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}
