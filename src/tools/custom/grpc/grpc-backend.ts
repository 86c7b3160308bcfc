import { fromBinary, fromJson, toBinary, toJson, type DescMessage } from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import { Metadata, status, type Client } from "@grpc/grpc-js";
import { invalidField, type ToolgateError } from "../../../domain/core/errors.ts";
import { isJsonObject, type JsonObject } from "../../../domain/core/json.ts";
import type { BackendOptions } from "../backend-options.ts";
import type { Backend, BackendAnswer, BackendCall, BackendDescription } from "../backend.ts";
import { wordsIn } from "../../../outbound/error-words.ts";
import { callFailed, unavailable, failedAfterWork, refusedCall } from "../failure.ts";
import { secretsOfHeader } from "../headers.ts";
import { omitted } from "../omitted.ts";
import { openChannel } from "./channel.ts";
import { commentAbove } from "./comments.ts";
import { readDescriptorSet, unaryMethod, type UnaryMethod } from "./unary-method.ts";
import { reflect } from "./reflection.ts";
import { requestSchema } from "./request-schema.ts";
import type { GrpcSection } from "./section.ts";
import { codeOf, retryAfterSeconds } from "./status.ts";

/** Bytes. */
const MAX_REFLECTION_BYTES = 8 * 1024 * 1024;

/** Default if the server sends no RetryInfo. */
const RETRY_SECONDS = 2;

/** One unary gRPC method as a tool. Parameters and results are its messages in ProtoJSON. */
export class GrpcBackend implements Backend {
  readonly #options: BackendOptions<GrpcSection>;
  #method: UnaryMethod | undefined;
  #client: Promise<Client> | undefined;

  constructor(options: BackendOptions<GrpcSection>) {
    this.#options = options;
  }

  async describe(signal: AbortSignal): Promise<BackendDescription> {
    const { method } = await this.#find(signal);
    return {
      description: commentAbove(method),
      inputSchema: requestSchema(method.input),
      fieldPath: (field) => fieldPath(method.output, field),
    };
  }

  forget(): void {
    this.#method = undefined;
  }

  /** Rejects what the schema cannot express, such as timestamps out of range. */
  check(params: JsonObject): void {
    if (this.#method) encode(this.#method, params);
  }

  async call(params: JsonObject, { signal, idempotencyKey, span }: BackendCall): Promise<BackendAnswer> {
    const { tool, maxResponseBytes } = this.#options;
    const found = await this.#find(signal).catch((error: unknown) => {
      throw this.#failure(error, signal);
    });
    const request = encode(found, params);
    const metadata = this.#metadata();
    for (const [name, value] of Object.entries(span?.headers ?? {})) metadata.set(name, value);
    if (idempotencyKey !== undefined) metadata.set("idempotency-key", idempotencyKey);
    const answer = await this.#unary(found, request, metadata, signal).catch((error: unknown) => {
      if (!signal.aborted && isTooLong(error)) return undefined;
      throw this.#failure(error, signal);
    });
    if (!answer)
      return { result: omitted("too_long", `the answer is longer than ${maxResponseBytes} bytes`, null) };
    const { message, headers, trailers } = answer;
    try {
      return { result: decode(found, message), headers: textOf(headers), trailers: textOf(trailers) };
    } catch (error) {
      throw failedAfterWork(tool, "the server's answer could not be read", error);
    }
  }

  async close(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    client?.close();
  }

  /** Resolves the method on first use, from the file or by reflection. */
  async #find(signal: AbortSignal): Promise<UnaryMethod> {
    const { section, guard, files } = this.#options;
    if (this.#method) return this.#method;
    if (section.descriptor_set !== undefined) {
      this.#method = unaryMethod(await readDescriptorSet(section.descriptor_set, files), section.method);
      return this.#method;
    }
    const [service = ""] = section.method.split("/");
    const client = await openChannel(section, guard, MAX_REFLECTION_BYTES, files);
    try {
      this.#method = unaryMethod(await reflect(client, service, this.#metadata(), signal), section.method);
      return this.#method;
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
      throw new Error(`${section.address} failed to describe itself`, { cause: error });
    } finally {
      client.close();
    }
  }

  async #unary(
    { method }: UnaryMethod,
    request: Buffer,
    metadata: Metadata,
    signal: AbortSignal,
  ): Promise<UnaryAnswer> {
    const { section, guard, maxResponseBytes, timeoutMs, files } = this.#options;
    this.#client ??= openChannel(section, guard, maxResponseBytes, files);
    const client = await this.#client;
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const received: { headers?: Metadata; trailers?: Metadata } = {};
    const call = client.makeUnaryRequest<Buffer, Buffer>(
      `/${method.parent.typeName}/${method.name}`,
      asIs,
      asIs,
      request,
      metadata,
      // Propagates the deadline to the server.
      { deadline: Date.now() + timeoutMs },
      (error, answer) =>
        answer ? resolve(answer) : reject(error ?? new Error("the server sent no response")),
    );
    // The status comes before the promise's continuation: grpc-js emits it right after the callback.
    call.on("metadata", (headers) => (received.headers = headers));
    call.on("status", ({ metadata: trailers }) => (received.trailers = trailers));
    const cancel = () => call.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    const message = await promise.finally(() => signal.removeEventListener("abort", cancel));
    return { message, ...received };
  }

  #metadata(): Metadata {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(this.#options.headers)) metadata.set(name, value);
    return metadata;
  }

  #failure(error: unknown, signal: AbortSignal): ToolgateError {
    const { tool, timeoutMs } = this.#options;
    const code = codeOf(error);
    if (signal.aborted || code === status.DEADLINE_EXCEEDED)
      return failedAfterWork(tool, `the server did not answer within ${timeoutMs / 1000} s`, error);
    if (code === status.UNAVAILABLE || code === status.RESOURCE_EXHAUSTED)
      return unavailable(
        tool,
        `the server is not available`,
        retryAfterSeconds(error) ?? RETRY_SECONDS,
        error,
        code === status.RESOURCE_EXHAUSTED ? 429 : 503,
      );
    if (code === undefined) return callFailed(tool, "the server could not be called", error);
    const what = `the server answered ${status[code] ?? "with an unknown status"}`;
    if (!OF_CALLER.has(code)) return callFailed(tool, what, error);
    const secrets = Object.values(this.#options.headers).flatMap(secretsOfHeader);
    return refusedCall(tool, what, wordsIn(detailsOf(error)), { secrets, cause: error });
  }
}

/** Statuses that blame the call (grpc.io, status codes). */
const OF_CALLER: ReadonlySet<status> = new Set([
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.FAILED_PRECONDITION,
  status.OUT_OF_RANGE,
]);

interface UnaryAnswer {
  readonly message: Buffer;
  readonly headers?: Metadata;
  readonly trailers?: Metadata;
}

/** Text values by name; the first of each. */
function textOf(metadata = new Metadata()): Record<string, string> {
  const values = Object.entries(metadata.getMap());
  return Object.fromEntries(
    values.flatMap(([name, value]) => (typeof value === "string" ? [[name, value] as const] : [])),
  );
}

/** grpc-js reports an oversized message with a status that servers also send; only its text differs. */
function isTooLong(error: unknown): boolean {
  return (
    codeOf(error) === status.RESOURCE_EXHAUSTED && /^Received message .*larger than/i.test(detailsOf(error))
  );
}

function detailsOf(error: unknown): string {
  return error instanceof Error && "details" in error && typeof error.details === "string"
    ? error.details
    : "";
}

/** @throws ToolgateError INVALID_REQUEST if protobuf rejects the parameters */
function encode({ method, registry }: UnaryMethod, params: JsonObject): Buffer {
  try {
    const bytes = toBinary(method.input, fromJson(method.input, params, { registry }));
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  } catch (error) {
    throw invalidField(
      "params",
      error instanceof Error ? error.message : `is not a valid ${method.input.typeName}`,
    );
  }
}

function decode({ method, registry }: UnaryMethod, answer: Buffer): JsonObject {
  const message = fromBinary(method.output, answer, { readUnknownFields: false });
  // Includes zero values: agents lack the proto's defaults.
  const json: unknown = toJson(method.output, message, { registry, alwaysEmitImplicit: true });
  if (!isJsonObject(json)) throw new TypeError(`${method.output.typeName} is not an object in JSON`);
  return json;
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

/** Returns the ProtoJSON members of a field: `["usage", "totalPages"]`. @throws Error for the operator */
function fieldPath(message: DescMessage, field: string): string[] {
  const [name = "", ...rest] = field.split(".");
  // Some servers reflect names in camel case.
  const found =
    message.fields.find((one) => one.name === name) ??
    message.fields.find((one) => one.name === protoCamelCase(name));
  if (!found) {
    const names = message.fields.slice(0, 20).map((one) => one.name);
    throw new Error(`meter.field: ${message.typeName} has no field ${name}; there are ${names.join(", ")}`);
  }
  if (rest.length === 0 && found.fieldKind === "scalar") return [found.jsonName];
  if (rest.length > 0 && found.fieldKind === "message")
    return [found.jsonName, ...fieldPath(found.message, rest.join("."))];
  throw new Error(
    `meter.field: ${message.typeName}.${name} is not a single ${rest.length > 0 ? "message" : "number"}`,
  );
}
