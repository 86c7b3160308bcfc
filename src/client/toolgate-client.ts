import type { JsonObject } from "@bufbuild/protobuf";
import { createClient, type CallOptions, type Client } from "@connectrpc/connect";
import { callErrorOf } from "./call-error.ts";
import { connectTransport } from "./connect-transport.ts";
import {
  ReceiptService,
  ReceiptStatus,
  RunService,
  RunStatus,
  ToolService,
  type GetCapabilitiesResponse,
  type GetPriceResponse,
  type Receipt,
  type Run,
} from "./messages.ts";
import type { PaymentOptions } from "./options.ts";
import { payingFetch } from "./paying-fetch.ts";

/** The gateway's URL and the caller's key. */
export interface ToolgateClientOptions {
  /** E.g. `https://tools.example.com`. */
  readonly baseUrl: string;
  /** `sk-agent-…` */
  readonly apiKey: string;
  /**
   * How calls are paid that the balance does not cover. Without it they end with `CallError`
   * PAYMENT_REQUIRED.
   */
  readonly payment?: PaymentOptions;
  /** Encoding of messages. Default `binary`. */
  readonly format?: "binary" | "json";
  /** Default: the payment's fetch, or the global one. */
  readonly fetch?: typeof fetch;
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

/**
 * The gateway's interface, typed by its protos, over the Connect protocol. Throws `CallError`, and what
 * payments throw.
 */
export class ToolgateClient {
  readonly #tools: Client<typeof ToolService>;
  readonly #receipts: Client<typeof ReceiptService>;
  readonly #runs: Client<typeof RunService>;
  readonly #headers: Readonly<Record<string, string>>;

  constructor({ baseUrl, apiKey, payment, format = "binary", fetch: given }: ToolgateClientOptions) {
    const plain: typeof fetch = given ?? payment?.fetch ?? ((input, init) => globalThis.fetch(input, init));
    const fetchFn = payment ? payingFetch({ ...payment, fetch: plain }) : plain;
    const transport = connectTransport(baseUrl.replace(/\/+$/, ""), fetchFn, format === "binary");
    this.#tools = createClient(ToolService, transport);
    this.#receipts = createClient(ReceiptService, transport);
    this.#runs = createClient(RunService, transport);
    this.#headers = { authorization: `Bearer ${apiKey}` };
  }

  /** Calls a tool, and pays for it if needed and `payment` is set. */
  async callTool(tool: string, params: JsonObject, options: CallToolOptions = {}): Promise<CallToolResult> {
    const { idempotencyKey = crypto.randomUUID() } = options;
    const call = this.#call(options, { "idempotency-key": idempotencyKey });
    const { result = {}, receipt } = await withCallErrors(this.#tools.callTool({ tool, params }, call));
    return { result, receipt };
  }

  /** Returns the price of a call and the missing balance, without running it. */
  price(tool: string, params: JsonObject, options: RequestOptions = {}): Promise<GetPriceResponse> {
    return withCallErrors(this.#tools.getPrice({ tool, params }, this.#call(options)));
  }

  /** Every tool, with its price where that is fixed. */
  capabilities(options: RequestOptions = {}): Promise<GetCapabilitiesResponse> {
    return withCallErrors(this.#tools.getCapabilities({}, this.#call(options)));
  }

  /** Your receipts, newest first. Loads pages as they are read. */
  receipts(options: ListOptions<ReceiptStatus> = {}): AsyncIterable<Receipt> {
    const { status = ReceiptStatus.UNSPECIFIED } = options;
    return pages(options, (page) =>
      withCallErrors(this.#receipts.listReceipts({ ...page, status }, this.#call(options))),
    );
  }

  /** A receipt by its identifier. @throws CallError NOT_FOUND */
  async receipt(id: string, options: RequestOptions = {}): Promise<Receipt | undefined> {
    return (await withCallErrors(this.#receipts.getReceipt({ id }, this.#call(options)))).receipt;
  }

  /** Your runs, newest first. Loads pages as they are read. */
  runs(options: ListOptions<RunStatus> = {}): AsyncIterable<Run> {
    const { status = RunStatus.UNSPECIFIED } = options;
    return pages(options, (page) =>
      withCallErrors(this.#runs.listRuns({ ...page, status }, this.#call(options))),
    );
  }

  /** A run by its identifier. @throws CallError NOT_FOUND */
  async run(id: string, options: RequestOptions = {}): Promise<Run | undefined> {
    return (await withCallErrors(this.#runs.getRun({ id }, this.#call(options)))).run;
  }

  #call({ signal }: RequestOptions, more: Readonly<Record<string, string>> = {}): CallOptions {
    const headers = { ...this.#headers, ...more };
    return signal ? { headers, signal } : { headers };
  }
}

async function withCallErrors<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw callErrorOf(error);
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
