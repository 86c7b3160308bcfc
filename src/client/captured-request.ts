import { isObject, jsonObject } from "./bytes.ts";

export type FetchInput = Parameters<typeof fetch>[0];

/** A request that can be repeated byte for byte. */
export interface CapturedRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: ReadonlyArray<readonly [string, string]>;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
}

/** A request to send, with a way to read its copy. */
export interface Capture {
  readonly input: FetchInput;
  readonly init: RequestInit | undefined;
  /** Reads the copy. Call at most once. */
  read(): Promise<CapturedRequest>;
  /** Discards the copy. */
  discard(): void;
}

/** Secret headers, never written to a store. */
const SECRET_HEADERS = new Set([
  "authorization",
  "cookie",
  "proxy-authorization",
  "sign-in-with-x",
  "x-api-key",
]);

/** Copies a request, because its body may be a stream that can be read only once. */
export function capture(input: FetchInput, init: RequestInit | undefined): Capture {
  const body = init?.body;
  if (body instanceof ReadableStream) {
    const [first, second] = body.tee();
    return captureOf(input, { ...init, body: first }, () => copyOf(input, { ...init, body: second }));
  }
  if (input instanceof Request && (body === undefined || body === null)) {
    const copy = input.clone();
    return captureOf(input, init, () => new Request(copy, withoutSignal(init)));
  }
  return captureOf(input, init, () => copyOf(input, init));
}

function captureOf(input: FetchInput, init: RequestInit | undefined, copy: () => Request): Capture {
  return {
    input,
    init,
    async read() {
      const request = copy();
      const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
      return { url: request.url, method: request.method, headers: [...request.headers], body };
    },
    discard() {
      if (init?.body instanceof ReadableStream || input instanceof Request) {
        void copy()
          .body?.cancel()
          .catch(() => {});
      }
    },
  };
}

/** Without the caller's signal: a call that is aborted later must not make the copy fail now. */
function copyOf(input: FetchInput, init: RequestInit | undefined): Request {
  const options = withoutSignal(init);
  return new Request(input, init?.body instanceof ReadableStream ? { ...options, duplex: "half" } : options);
}

function withoutSignal(init: RequestInit | undefined): RequestInit {
  const { signal: _signal, ...options } = init ?? {};
  return options;
}

/** The request as a store may keep it. */
export function withoutSecrets(request: CapturedRequest): CapturedRequest {
  return { ...request, headers: request.headers.filter(([name]) => !SECRET_HEADERS.has(name.toLowerCase())) };
}

/** Headers with others added. A payment in Authorization moves an API key from there to X-API-Key. */
export function headersWith(
  own: CapturedRequest["headers"],
  added: Readonly<Record<string, string>>,
): Headers {
  const headers = new Headers(own.map(([name, value]) => [name, value]));
  const [, key] = /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "") ?? [];
  for (const [name, value] of Object.entries(added)) headers.set(name, value);
  const isPayment = headers.get("authorization")?.startsWith("Payment ") === true;
  if (key !== undefined && isPayment && !headers.has("x-api-key")) headers.set("x-api-key", key);
  return headers;
}

/** The caller's idempotency key: the header, or the member of a JSON body (specification 2.1). */
export function idempotencyKeyOf(request: CapturedRequest): string | undefined {
  const header = new Headers(request.headers.map(([name, value]) => [name, value])).get("idempotency-key");
  if (header !== null) return header;
  const key = jsonBody(request)?.["idempotency_key"];
  return typeof key === "string" ? key : undefined;
}

/** Whether an Idempotency-Key may be added: not if the body has one already or cannot be read. */
export function takesIdempotencyKey(request: CapturedRequest): boolean {
  return jsonBody(request) !== undefined && idempotencyKeyOf(request) === undefined;
}

/** Returns the tool name in the path of a call by wallet, or in a JSON body: `tool`, MCP's `params.name`. */
export function toolOf(request: CapturedRequest): string | undefined {
  const [, sold] = /\/x402\/(\w+)$/.exec(new URL(request.url).pathname) ?? [];
  if (sold !== undefined) return sold;
  const body = jsonBody(request);
  const params = body?.["params"];
  const name =
    body?.["jsonrpc"] === undefined ? body?.["tool"] : isObject(params) ? params["name"] : undefined;
  return typeof name === "string" ? name : undefined;
}

function jsonBody({ body }: CapturedRequest): Record<string, unknown> | undefined {
  return body && jsonObject(new TextDecoder().decode(body));
}
