import {
  create,
  fromBinary,
  fromJsonString,
  toBinary,
  toJsonString,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { readRefusal } from "./answer.ts";
import { CallError } from "./call-error.ts";

export interface Endpoint {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  readonly fetch: typeof fetch;
  readonly format: "binary" | "json";
}

export interface ConnectCallOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** Calls a unary method over Connect (connectrpc.com/docs/protocol). @throws CallError; as `fetch` */
export async function connectCall<Input extends DescMessage, Output extends DescMessage>(
  { baseUrl, fetch: send, format }: Endpoint,
  { parent, name, input, output }: DescMethodUnary<Input, Output>,
  request: MessageInitShape<Input>,
  { headers, signal }: ConnectCallOptions,
): Promise<MessageShape<Output>> {
  const message = create(input, request);
  const binary = format === "binary";
  const type = binary ? "application/proto" : "application/json";
  const response = await send(`${baseUrl}/${parent.typeName}/${name}`, {
    method: "POST",
    headers: { ...headers, "content-type": type, "connect-protocol-version": "1" },
    body: binary ? toBinary(input, message) : toJsonString(input, message),
    ...(signal && { signal }),
  });
  const [answered = ""] = (response.headers.get("content-type") ?? "").split(";");
  if (!response.ok || answered.trim() !== type) throw await errorOf(response);
  return binary
    ? fromBinary(output, new Uint8Array(await response.arrayBuffer()))
    : fromJsonString(output, await response.text(), { ignoreUnknownFields: true });
}

/** Error codes of answers that are not the gateway's (connectrpc.com, "HTTP to Error Code"). */
const CODES: Readonly<Record<number, string>> = {
  400: "INTERNAL",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "UNIMPLEMENTED",
  429: "UNAVAILABLE",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "UNAVAILABLE",
};

/** Returns the error of an answer that is not a result. */
export async function errorOf(response: Response): Promise<CallError> {
  const refusal = await readRefusal(response);
  // An unread body would keep its connection.
  void response.body?.cancel().catch(() => {});
  if (refusal) return new CallError(refusal);
  const code = CODES[response.status] ?? "UNKNOWN";
  return new CallError({ code, message: `HTTP ${response.status}, not an answer of a gateway` });
}
