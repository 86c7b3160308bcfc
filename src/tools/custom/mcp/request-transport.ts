import {
  isJSONRPCRequest,
  isJSONRPCResponse,
  StreamableHTTPClientTransport,
  type JSONRPCMessage,
  type StreamableHTTPClientTransportOptions,
} from "@modelcontextprotocol/client";
import type { Fetch } from "../../../outbound/guarded-fetch.ts";
import { isBusy, ServerBusyError } from "./server-busy.ts";

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

/** JSON-RPC: what is below -32000 belongs to the standard, what is above to MCP and to servers; this is told to nobody. */
const STREAM_ENDED = -32_000;

/** What a cancellation names (MCP, basic/utilities/cancellation). */
const CANCELLED = "notifications/cancelled";

/** Streamable HTTP (MCP, basic/transports) for requests alone: it listens to no stream but their own, and each ends with its request. */
export class RequestTransport extends StreamableHTTPClientTransport {
  readonly #running = new Map<string | number, AbortController>();
  /** What the last stream broke by, until its request is told. */
  #streamError: unknown;

  constructor(url: URL, fetch: Fetch, headers: Readonly<Record<string, string>>) {
    const options: StreamableHTTPClientTransportOptions = {
      fetch: async (input, init) => this.#recordErrors(await fetchResponse(fetch, input, init)),
      // Nothing is sent elsewhere, with the operator's secrets, than where the operator said.
      requestInit: { headers: { ...headers }, redirect: "manual" },
      onInsufficientScope: "throw",
      // An answer whose stream was cut may be fetched again where the server says how; the call's own time limit ends this.
      reconnectionOptions: {
        initialReconnectionDelay: 250,
        reconnectionDelayGrowFactor: 2,
        maxReconnectionDelay: 2_000,
        maxRetries: 3,
      },
    };
    super(url, options);
  }

  override async send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    if (Array.isArray(message)) return super.send(message, options);
    if (isJSONRPCRequest(message)) return this.#request(message, options);
    await super.send(message, options);
    const cancelled = cancelledRequest(message);
    if (cancelled === undefined) return;
    this.#running.get(cancelled)?.abort();
    this.#running.delete(cancelled);
  }

  async #request(message: JSONRPCMessage & { id: string | number }, options?: SendOptions): Promise<void> {
    const { id } = message;
    const stop = new AbortController();
    const { requestSignal } = options ?? {};
    this.#running.set(id, stop);
    const sent = super.send(message, {
      ...options,
      requestSignal: requestSignal ? AbortSignal.any([requestSignal, stop.signal]) : stop.signal,
      onRequestStreamEnd: () => {
        options?.onRequestStreamEnd?.();
        const error = {
          code: STREAM_ENDED,
          message: "the stream ended before the answer",
          data: this.#streamError,
        };
        this.#streamError = undefined;
        // To a request that was answered this says nothing; one that was not would wait for ever.
        this.onmessage?.({ jsonrpc: "2.0", id, error });
      },
    });
    await sent.catch((error: unknown) => {
      this.#running.delete(id);
      throw error;
    });
  }

  /** The same answer; the client library reads streams by itself and keeps why they break to itself. */
  #recordErrors(response: Response): Response {
    if (!response.body) return response;
    const { status, statusText, headers } = response;
    return new Response(ReadableStream.from(this.#recordingErrors(response.body)), {
      status,
      statusText,
      headers,
    });
  }

  async *#recordingErrors(body: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      this.#streamError = error;
      throw error;
    }
  }

  /** To be called once there is a client: forgets requests as they are answered. */
  forgetAnswered(): void {
    const deliver = this.onmessage;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- what the client library offers
    this.onmessage = (message) => {
      if (isJSONRPCResponse(message) && message.id !== undefined) this.#running.delete(message.id);
      deliver?.(message);
    };
  }
}

/** Asks the server, but for its stream of news: whatever it has to say of itself is not listened to. */
async function fetchResponse(
  fetch: Fetch,
  input: string | URL,
  init: RequestInit | undefined,
): Promise<Response> {
  const headers = new Headers(init?.headers);
  if (init?.method === "GET" && !headers.has("last-event-id")) return new Response(null, { status: 405 });
  const response = await fetch(input, init);
  if (!isBusy(response)) return response;
  await response.body?.cancel();
  throw new ServerBusyError(response);
}

function cancelledRequest(message: JSONRPCMessage): string | number | undefined {
  if (!("method" in message) || message.method !== CANCELLED) return undefined;
  const id = message.params?.["requestId"];
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}
