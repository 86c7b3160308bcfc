import type { DescService } from "@bufbuild/protobuf";
import { Health } from "#gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "#gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionV1Alpha } from "#gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { logVerbosity, Server, ServerCredentials, type ServerOptions, setLogVerbosity } from "@grpc/grpc-js";
import type * as ports from "../../app/ports.ts";
import type { Random } from "../../domain/clock.ts";
import { MAX_CONNECTIONS } from "../max-connections.ts";
import type { Pipeline } from "../pipeline.ts";
import { RequestIds } from "../request-context.ts";
import { CallAuthenticator } from "./call-authenticator.ts";
import { listenersOf } from "./call-internals.ts";
import { HealthEndpoint } from "./health.ts";
import { OpenCalls, type CallLimits } from "./open-calls.ts";
import { serverReflection } from "./reflection.ts";
import { register, registerEncoded, registerBytes } from "./register.ts";
import { HEADER_SETTINGS, reduceHeaders } from "./request-headers.ts";
import { unaryHandler } from "./unary-handler.ts";

/** What the gRPC door needs. */
export interface GrpcDeps {
  readonly pipeline: Pipeline;
  /** The services to serve; the pipeline has them all. */
  readonly services: readonly DescService[];
  readonly health: ports.Health;
  readonly random: Random;
  /** Largest request message, bytes. */
  readonly bodyLimit: number;
  /** How often the state is looked at for those who watch it, ms; default 1000. */
  readonly watchIntervalMs?: number;
  /** What callers and connections may take; as {@link GRPC_LIMITS} where left out. */
  readonly limits?: Partial<GrpcLimits>;
}

/** What callers and connections may take; times in ms. */
export interface GrpcLimits extends CallLimits {
  /** For a connection without calls. */
  readonly idleMs: number;
  /** For a connection, give or take a tenth: then its caller has to make a new one, and old calls have `graceMs` to end. */
  readonly ageMs: number;
  readonly graceMs: number;
  /** Between two signs of life that are asked for, and until one comes. */
  readonly pingMs: number;
  readonly pongMs: number;
  /** How many there may be. */
  readonly connections: number;
}

/** The grace is longer than any tool may take. */
const GRPC_LIMITS: GrpcLimits = {
  requestMs: 60_000,
  answerMs: 60_000,
  idleMs: 600_000,
  ageMs: 3_600_000,
  graceMs: 600_000,
  pingMs: 60_000,
  pongMs: 20_000,
  connections: MAX_CONNECTIONS,
  keyless: { perConnection: 32, total: 512 },
};

/** Largest response message, bytes: what clients take unless they say otherwise. */
const MAX_SEND_BYTES = 4 * 1024 * 1024;

/** Memory of a connection, MB: headers, and answers that wait to be taken. New streams are refused above it. */
const MAX_SESSION_MB = 32;

/** gRPC over cleartext HTTP/2, with grpc.health.v1 and server reflection. */
export class GrpcServer {
  readonly #server: Server;
  readonly #health: HealthEndpoint;
  readonly #connections: number;
  #address: string | undefined;

  constructor({ pipeline, services, health, random, bodyLimit, watchIntervalMs = 1000, limits }: GrpcDeps) {
    const within = { ...GRPC_LIMITS, ...limits };
    this.#connections = within.connections;
    const methods = services.flatMap((service) => service.methods);
    const heads = new CallAuthenticator(pipeline, methods, new RequestIds(random), bodyLimit);
    const { interceptor } = new OpenCalls(within, heads);
    // It would write what callers send in their metadata to the console.
    setLogVerbosity(logVerbosity.NONE);
    this.#server = new Server({ ...optionsOf(bodyLimit, within), interceptors: [interceptor] });
    for (const method of methods) {
      registerBytes(this.#server, method, unaryHandler(pipeline, pipeline.operation(method), heads));
    }
    const names = services.map(({ typeName }) => typeName);
    this.#health = new HealthEndpoint(health, names, watchIntervalMs);
    register(this.#server, Health.method.check, this.#health.check);
    register(this.#server, Health.method.list, this.#health.list);
    register(this.#server, Health.method.watch, this.#health.watch);
    const reflection = serverReflection([...services, Health, ServerReflection, ServerReflectionV1Alpha]);
    registerEncoded(this.#server, ServerReflection.method.serverReflectionInfo, reflection);
    // What grpcurl asked for before 2023, and many ask for still: the same messages under the service's first name.
    registerEncoded(
      this.#server,
      ServerReflection.method.serverReflectionInfo,
      reflection,
      ServerReflectionV1Alpha,
    );
  }

  /**
   * Starts to listen.
   * @param port 0 picks a free one
   * @returns the port
   */
  async listen(host: string, port: number): Promise<number> {
    const name = host.includes(":") ? `[${host}]` : host;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#server.bindAsync(`${name}:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
    const bound = await promise;
    for (const listener of listenersOf(this.#server)) {
      listener.maxConnections = this.#connections;
      listener.updateSettings(HEADER_SETTINGS);
      listener.prependListener("stream", (_stream, headers) => reduceHeaders(headers));
    }
    this.#address = `${name}:${bound}`;
    return bound;
  }

  /**
   * Takes no new calls and waits for those that run; after `graceMs` it ends their connections. (`forceShutdown` would not do:
   * without channelz, grpc-js knows its sessions only by their port.)
   */
  async close(graceMs: number): Promise<void> {
    await this.#health.close();
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#address !== undefined) this.#server.drain(this.#address, graceMs);
    this.#server.tryShutdown(() => resolve());
    await promise;
  }
}

function optionsOf(bodyLimit: number, { idleMs, ageMs, graceMs, pingMs, pongMs }: GrpcLimits): ServerOptions {
  return {
    "grpc.max_receive_message_length": bodyLimit,
    "grpc.max_send_message_length": MAX_SEND_BYTES,
    "grpc.max_concurrent_streams": 256,
    "grpc-node.max_session_memory": MAX_SESSION_MB,
    "grpc.keepalive_time_ms": pingMs,
    "grpc.keepalive_timeout_ms": pongMs,
    "grpc.max_connection_idle_ms": idleMs,
    "grpc.max_connection_age_ms": ageMs,
    "grpc.max_connection_age_grace_ms": graceMs,
    // Diagnostics that nobody can read here and that cost on every call.
    "grpc.enable_channelz": 0,
  };
}
