import type { ServerHttp2Stream, IncomingHttpHeaders, Settings } from "node:http2";
import type { DescService } from "@bufbuild/protobuf";
import { Health } from "#gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "#gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionV1Alpha } from "#gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { logVerbosity, Server, type ServerOptions, setLogVerbosity, status } from "@grpc/grpc-js";
import type { Log } from "../../domain/core/log.ts";
import type { RequestRecorder } from "../../app/operations/request-record.ts";
import type { Health as HealthCheck } from "../../app/operations/readiness.ts";
import { MAX_CONNECTIONS } from "../limits.ts";
import type { Pipeline } from "../pipeline.ts";
import type { RequestIds } from "../request-ids.ts";
import type { ServerTls } from "../server-tls.ts";
import { GRPC_JS, listenersOf, serveFirst } from "./call-internals.ts";
import { credentialsOf } from "./credentials.ts";
import { HealthEndpoint } from "./health.ts";
import { OpenCalls, type CallLimits } from "./open-calls.ts";
import { serverReflection } from "./reflection.ts";
import { asIs, pathOf, register, registerEncoded } from "./register.ts";
import { httpStatusOf, IDENTITY, statusOf } from "./status.ts";
import { MAX_SEND_BYTES } from "./unary-call.ts";
import { UnaryHandler } from "./unary-handler.ts";
import { HEAD_LIMIT } from "../http/parse-error.ts";

export interface GrpcDeps {
  readonly pipeline: Pipeline;
  /** Services to serve; the pipeline contains them all. */
  readonly services: readonly DescService[];
  readonly health: HealthCheck;
  readonly requestIds: RequestIds;
  /** Largest request message, bytes. */
  readonly bodyLimit: number;
  /** Interval of the health check for watchers, ms; default 1000. */
  readonly watchIntervalMs?: number;
  readonly limits?: Partial<GrpcLimits>;
  readonly log: Pick<Log, "warn">;
  readonly tls?: ServerTls | undefined;
  /**
   * Uses the public API of grpc-js alone: without the early checks of keys and sizes and without the limits
   * of waiting calls, headers and connections. Default: with an unknown version of grpc-js.
   */
  readonly byLibrary?: boolean;
}

/** Limits of calls and connections; times in ms. */
export interface GrpcLimits extends CallLimits {
  /** Idle time of a connection. */
  readonly idleMs: number;
  /** Age of a connection, plus or minus a tenth; then clients reconnect and calls have `graceMs` to end. */
  readonly ageMs: number;
  readonly graceMs: number;
  /** Interval of keepalive pings, and the wait for each reply. */
  readonly pingMs: number;
  readonly pongMs: number;
  readonly connections: number;
}

/** The grace period is longer than any tool call. */
const GRPC_LIMITS: GrpcLimits = {
  requestMs: 60_000,
  keylessRequestMs: 8_000,
  answerMs: 60_000,
  idleMs: 600_000,
  ageMs: 3_600_000,
  graceMs: 600_000,
  pingMs: 60_000,
  pongMs: 20_000,
  connections: MAX_CONNECTIONS,
  keyless: { perConnection: 32, total: 512 },
};

/** Memory of a connection, MB: headers and unread responses. New streams are refused above it. */
const MAX_SESSION_MB = 32;

/** gRPC over HTTP/2, with TLS or in cleartext, with grpc.health.v1 and server reflection. */
export class GrpcServer {
  readonly #server: Server;
  readonly #health: HealthEndpoint;
  readonly #unary: UnaryHandler;
  readonly #requests: RequestRecorder;
  /** Paths of the methods that grpc-js serves. */
  readonly #served: ReadonlySet<string>;
  readonly #connections: number;
  /** See {@link GrpcDeps.byLibrary}. */
  readonly #byLibrary: boolean;
  readonly #tls: ServerTls | undefined;
  #address: string | undefined;

  constructor({
    pipeline,
    services,
    health,
    requestIds,
    bodyLimit,
    watchIntervalMs = 1000,
    limits,
    byLibrary = !GRPC_JS.isKnown,
    log,
    tls,
  }: GrpcDeps) {
    this.#tls = tls;
    this.#byLibrary = byLibrary;
    if (byLibrary) log.warn({ version: GRPC_JS.version }, "gRPC is served without some limits");
    const within = { ...GRPC_LIMITS, ...limits };
    this.#connections = within.connections;
    this.#requests = pipeline.requests;
    const own = [Health, ServerReflection, ServerReflectionV1Alpha];
    this.#served = new Set(own.flatMap((service) => service.methods.map(pathOf)));
    const methods = services.flatMap((service) => service.methods);
    const refusal = (thrown: unknown) => {
      const requestId = requestIds.next();
      return statusOf(pipeline.failure(thrown, requestId), [["x-request-id", requestId], IDENTITY]);
    };
    const calls = new OpenCalls(within, refusal, pipeline.requests);
    this.#unary = new UnaryHandler(pipeline, methods, requestIds, bodyLimit, calls);
    // grpc-js would log metadata that clients send.
    setLogVerbosity(logVerbosity.NONE);
    this.#server = new Server({
      ...optionsOf(within),
      ...(byLibrary
        ? { "grpc.max_receive_message_length": bodyLimit }
        : { interceptors: [calls.interceptor] }),
    });
    if (byLibrary) {
      for (const [path, handler] of this.#unary.libraryHandlers())
        this.#server.register(path, handler, asIs, asIs, "unary");
    }
    const names = services.map(({ typeName }) => typeName);
    this.#health = new HealthEndpoint(health, names, watchIntervalMs);
    register(this.#server, Health.method.check, this.#health.check);
    register(this.#server, Health.method.list, this.#health.list);
    register(this.#server, Health.method.watch, this.#health.watch);
    const reflection = serverReflection([...services, ...own]);
    registerEncoded(this.#server, ServerReflection.method.serverReflectionInfo, reflection);
    // The same service under its v1alpha name, which grpcurl before 2023 and many other clients use.
    registerEncoded(
      this.#server,
      ServerReflection.method.serverReflectionInfo,
      reflection,
      ServerReflectionV1Alpha,
    );
  }

  /** Starts to listen. @param port 0 picks a free one. @returns the port */
  async listen(host: string, port: number): Promise<number> {
    const name = host.includes(":") ? `[${host}]` : host;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#server.bindAsync(`${name}:${port}`, credentialsOf(this.#tls), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
    const bound = await promise;
    if (!this.#byLibrary) this.#takeStreams();
    this.#address = `${name}:${bound}`;
    return bound;
  }

  /** Serves the calls of the services on their streams, and leaves the others to grpc-js. */
  #takeStreams(): void {
    for (const listener of listenersOf(this.#server)) {
      listener.maxConnections = this.#connections;
      listener.updateSettings(HEADER_SETTINGS);
      serveFirst(this.#server, listener, (stream, headers) => {
        reduceHeaders(headers);
        if (this.#unary.serve(stream, headers)) return true;
        if (!this.#served.has(headers[":path"] ?? "")) this.#countUnknown(stream);
        return false;
      });
    }
  }

  #countUnknown(stream: ServerHttp2Stream): void {
    const record = this.#requests.start("grpc", "");
    stream.once("close", () => this.#requests.end(record, httpStatusOf(status.UNIMPLEMENTED)));
  }

  /** Reports NOT_SERVING to health checks; calls are still served. */
  async drain(): Promise<void> {
    await this.#health.close();
  }

  /** Rejects new calls, waits for running ones, then closes connections. `forceShutdown` needs channelz. */
  async close(graceMs: number): Promise<void> {
    await this.drain();
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#address !== undefined) this.#server.drain(this.#address, graceMs);
    this.#server.tryShutdown(() => resolve());
    await promise;
  }
}

function optionsOf({ idleMs, ageMs, graceMs, pingMs, pongMs }: GrpcLimits): ServerOptions {
  return {
    "grpc.max_send_message_length": MAX_SEND_BYTES,
    "grpc.max_concurrent_streams": 256,
    "grpc-node.max_session_memory": MAX_SESSION_MB,
    "grpc.keepalive_time_ms": pingMs,
    "grpc.keepalive_timeout_ms": pongMs,
    "grpc.max_connection_idle_ms": idleMs,
    "grpc.max_connection_age_ms": ageMs,
    "grpc.max_connection_age_grace_ms": graceMs,
    // Diagnostics that cost time on every call and are not exposed.
    "grpc.enable_channelz": 0,
  };
}

/** Sent to clients, and enforced once they acknowledge it. */
const HEADER_SETTINGS: Settings = { maxHeaderListSize: HEAD_LIMIT };

/** At most eight digits and a unit (gRPC over HTTP/2, "Timeout"). */
const TIMEOUT_LENGTH = 9;

/**
 * Removes headers that are slow in grpc-js: binary metadata, which it splits at each comma, and long
 * timeouts. When the headers exceed the limit in spite of the settings, removes all; the request then fails
 * without a content type.
 */
function reduceHeaders(headers: IncomingHttpHeaders): void {
  let size = 0;
  for (const name of Object.keys(headers)) {
    size += sizeOf(name, headers[name]);
    if (name.endsWith("-bin")) delete headers[name];
  }
  const timeout = headers["grpc-timeout"];
  if (timeout !== undefined && timeout.length > TIMEOUT_LENGTH) headers["grpc-timeout"] = "invalid";
  if (size <= HEAD_LIMIT) return;
  for (const name of Object.keys(headers)) if (!name.startsWith(":")) delete headers[name];
}

/** Returns the size of a header (RFC 9113 section 6.5.2). */
function sizeOf(name: string, value: string | string[] | undefined): number {
  const values = Array.isArray(value) ? value : [value ?? ""];
  return values.reduce((sum, { length }) => sum + name.length + length + 32, 0);
}
