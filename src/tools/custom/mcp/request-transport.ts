import {
  isJSONRPCRequest,
  isJSONRPCResponse,
  isJSONRPCResultResponse,
  StreamableHTTPClientTransport,
  type JSONRPCMessage,
  type StreamableHTTPClientTransportOptions,
} from "@modelcontextprotocol/client";
import type { Fetch } from "../../../outbound/guarded-fetch.ts";
import { isBusy, ServerBusyError } from "./server-busy.ts";
import { withWholeContent } from "./whole-content.ts";

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

/** A code for internal use, outside of the range reserved by JSON-RPC. */
const STREAM_ENDED = -32_000;

/** MCP, basic/utilities/cancellation. */
const CANCELLED = "notifications/cancelled";

/** Streamable HTTP (MCP, basic/transports) without a standalone stream: each ends with its request. */
export class RequestTransport extends StreamableHTTPClientTransport {
  readonly #running = new Map<string | number, AbortController>();
  /** The error of the last stream, until its request reports it. */
  #streamError: unknown;

  constructor(url: URL, fetch: Fetch, headers: Readonly<Record<string, string>>) {
    const options: StreamableHTTPClientTransportOptions = {
      fetch: async (input, init) => this.#recordErrors(await fetchResponse(fetch, input, init)),
      // A redirect would send the operator's secrets elsewhere.
      requestInit: { headers: { ...headers }, redirect: "manual" },
      onInsufficientScope: "throw",
      // Resumes a cut stream if the server supports it; the call's time limit bounds this.
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
        // Ignored for answered requests; the others would wait forever.
        this.onmessage?.({ jsonrpc: "2.0", id, error });
      },
    });
    await sent.catch((error: unknown) => {
      this.#running.delete(id);
      throw error;
    });
  }

  /** Records stream errors, which the client library hides. */
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

  /** Forgets requests once answered. Call after the client has connected. */
  forgetAnswered(): void {
    const deliver = this.onmessage;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- what the client library offers
    this.onmessage = (message) => {
      if (isJSONRPCResponse(message) && message.id !== undefined) this.#running.delete(message.id);
      deliver?.(isJSONRPCResultResponse(message) ? withWholeContent(message) : message);
    };
  }
}

/** Refuses the standalone GET stream and throws ServerBusyError for 429 and 503. */
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
