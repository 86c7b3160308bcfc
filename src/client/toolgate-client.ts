import type {
  DescMessage,
  DescMethodUnary,
  JsonObject,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { connectCall, type Endpoint } from "./connect-call.ts";
import {
  ReceiptService,
  ReceiptStatus,
  RunService,
  RunStatus,
  ToolService,
  type GetCapabilitiesResponse,
  type Receipt,
  type Run,
} from "./messages.ts";
import type { PaymentOptions } from "./options.ts";
import { payingFetch } from "./paying-fetch.ts";
import { WalletCalls, type WalletKey } from "./wallet-calls.ts";

/** The gateway's URL, and the caller's API key or wallet. */
export type ToolgateClientOptions = EndpointOptions & (KeyOptions | WalletOptions);

interface EndpointOptions {
  /** E.g. `https://tools.example.com`. */
  readonly baseUrl: string;
  /** Encoding of Connect messages. Default `binary`. */
  readonly format?: "binary" | "json";
  /** Default: the fetch of the payment or wallet, or the global one. */
  readonly fetch?: typeof fetch;
}

interface KeyOptions {
  /** `sk-agent-…`, or what returns the token of a sign-in (`toolgate-client/sign-in`) for each call. */
  readonly apiKey: string | (() => string | Promise<string>);
  /** How calls beyond the balance are paid. Without it they end with `CallError` PAYMENT_REQUIRED. */
  readonly payment?: PaymentOptions;
  readonly wallet?: undefined;
}

interface WalletOptions {
  /** Pays calls and signs in, in place of an API key: its address is the account. */
  readonly wallet: PaymentOptions;
  readonly apiKey?: undefined;
  readonly payment?: undefined;
}

/** What a call costs. Balance and missing amount are undefined without an API key. */
export interface Price {
  readonly tool: string;
  /** 0 for a free call; the most that a metered call costs. */
  readonly priceUsdcMicrousd: bigint;
  readonly priceDisplay: string;
  readonly balanceUsdcMicrousd?: bigint | undefined;
  readonly missingUsdcMicrousd?: bigint | undefined;
}

/** Options of every call. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
}

/** Options of a tool call. */
export interface CallToolOptions extends RequestOptions {
  /** Repeated calls with the same key are one call, charged once. Default: a new key for each call. */
  readonly idempotencyKey?: string;
}

/** Result and receipt of a tool call. */
export interface CallToolResult {
  readonly result: JsonObject;
  /** Undefined for free calls. */
  readonly receipt: Receipt | undefined;
}

/** Which entries of a list, newest first. */
export interface ListOptions<Status> extends RequestOptions {
  readonly status?: Status;
  /** Entries of one page, 1 to 100. Default 20. */
  readonly pageSize?: number;
}

interface Page<Item> {
  readonly items: Item[];
  readonly hasMore: boolean;
  readonly nextCursor?: string | undefined;
}

/** The gateway's interface over Connect, typed by its protos. Throws `CallError`, and what payments throw. */
export class ToolgateClient {
  readonly #endpoint: Endpoint;
  readonly #apiKey: KeyOptions["apiKey"] | undefined;
  /** Undefined with an API key. */
  readonly #wallet: WalletCalls | undefined;

  constructor({ baseUrl, apiKey, payment, wallet, format = "binary", fetch: given }: ToolgateClientOptions) {
    const plain: typeof fetch =
      given ?? (payment ?? wallet)?.fetch ?? ((input, init) => globalThis.fetch(input, init));
    const fetchFn = payment ? payingFetch({ ...payment, fetch: plain }) : plain;
    this.#endpoint = { baseUrl: baseUrl.replace(/\/+$/, ""), fetch: fetchFn, format };
    this.#wallet = wallet && new WalletCalls(this.#endpoint, wallet);
    this.#apiKey = apiKey;
  }

  /** Calls a tool, and pays for it if needed and `payment` or `wallet` is set. */
  async callTool(tool: string, params: JsonObject, options: CallToolOptions = {}): Promise<CallToolResult> {
    const { idempotencyKey = crypto.randomUUID() } = options;
    if (this.#wallet) return this.#wallet.callTool(tool, params, idempotencyKey, options.signal);
    const headers = { "idempotency-key": idempotencyKey };
    const call = this.#call(ToolService.method.callTool, { tool, params }, options, headers);
    const { result = {}, receipt } = await call;
    return { result, receipt };
  }

  /** Returns the price of a call, and with an API key the missing balance, without running it. */
  async price(tool: string, params: JsonObject, options: RequestOptions = {}): Promise<Price> {
    if (this.#wallet) {
      const { priceUsdcMicrousd, priceDisplay } = await this.#wallet.quote(tool, params, options.signal);
      return { tool, priceUsdcMicrousd, priceDisplay };
    }
    return this.#call(ToolService.method.getPrice, { tool, params }, options);
  }

  /** Every tool, with its price where that is fixed. */
  capabilities(options: RequestOptions = {}): Promise<GetCapabilitiesResponse> {
    return this.#call(ToolService.method.getCapabilities, {}, options);
  }

  /** Your receipts, newest first. Loads pages as they are read. */
  receipts(options: ListOptions<ReceiptStatus> = {}): AsyncIterable<Receipt> {
    const { status = ReceiptStatus.UNSPECIFIED } = options;
    return pages(options, (page) =>
      this.#read("/receipts", ReceiptService.method.listReceipts, { ...page, status }, options),
    );
  }

  /** A receipt by its identifier. @throws CallError NOT_FOUND */
  async receipt(id: string, options: RequestOptions = {}): Promise<Receipt | undefined> {
    return (await this.#read(`/receipts/${id}`, ReceiptService.method.getReceipt, { id }, options)).receipt;
  }

  /** Your runs, newest first. Loads pages as they are read. */
  runs(options: ListOptions<RunStatus> = {}): AsyncIterable<Run> {
    const { status = RunStatus.UNSPECIFIED } = options;
    return pages(options, (page) =>
      this.#read("/runs", RunService.method.listRuns, { ...page, status }, options),
    );
  }

  /** A run by its identifier. @throws CallError NOT_FOUND */
  async run(id: string, options: RequestOptions = {}): Promise<Run | undefined> {
    return (await this.#read(`/runs/${id}`, RunService.method.getRun, { id }, options)).run;
  }

  /** Creates an API key of the wallet's account; shows its secret once. @throws CallError FORBIDDEN */
  createKey(name?: string): Promise<WalletKey & { readonly secret: string }> {
    return this.#requireWallet().createKey(name);
  }

  /** The API keys of the wallet's account. */
  keys(): Promise<WalletKey[]> {
    return this.#requireWallet().keys();
  }

  /** Revokes an API key of the wallet's account. */
  revokeKey(keyId: string): Promise<void> {
    return this.#requireWallet().revokeKey(keyId);
  }

  #requireWallet(): WalletCalls {
    if (this.#wallet) return this.#wallet;
    throw new TypeError("wallet: only a wallet manages API keys");
  }

  /** Calls a method that reads. A wallet signs its path over HTTP. */
  async #read<Input extends DescMessage, Output extends DescMessage>(
    path: string,
    method: DescMethodUnary<Input, Output>,
    request: MessageInitShape<Input>,
    options: RequestOptions,
  ): Promise<MessageShape<Output>> {
    const signed = await this.#wallet?.signIn.forReading(path, options.signal);
    return this.#call(method, request, options, signed);
  }

  async #call<Input extends DescMessage, Output extends DescMessage>(
    method: DescMethodUnary<Input, Output>,
    request: MessageInitShape<Input>,
    { signal }: RequestOptions,
    more: Readonly<Record<string, string>> = {},
  ): Promise<MessageShape<Output>> {
    const key = typeof this.#apiKey === "function" ? await this.#apiKey() : this.#apiKey;
    const headers = { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...more };
    return connectCall(this.#endpoint, method, request, { headers, signal });
  }
}

async function* pages<Item>(
  { pageSize }: ListOptions<unknown>,
  ask: (page: { limit?: number; cursor?: string }) => Promise<Page<Item>>,
): AsyncIterable<Item> {
  const limit = pageSize === undefined ? {} : { limit: pageSize };
  let cursor: string | undefined;
  do {
    const page = await ask(cursor === undefined ? limit : { ...limit, cursor });
    yield* page.items;
    cursor = page.hasMore ? page.nextCursor : undefined;
  } while (cursor !== undefined);
}
