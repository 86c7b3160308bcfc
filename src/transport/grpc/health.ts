import { create, type MessageShape } from "@bufbuild/protobuf";
import {
  type HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthCheckResponseSchema,
  type HealthListRequestSchema,
  HealthListResponseSchema,
} from "#gen/grpc/health/v1/health_pb.ts";
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServerWritableStream,
  status,
} from "@grpc/grpc-js";
import type { Health } from "../../app/operations/readiness.ts";

type CheckRequest = MessageShape<typeof HealthCheckRequestSchema>;
type CheckResponse = MessageShape<typeof HealthCheckResponseSchema>;
type ListRequest = MessageShape<typeof HealthListRequestSchema>;
type ListResponse = MessageShape<typeof HealthListResponseSchema>;
type WatchCall = ServerWritableStream<CheckRequest, CheckResponse>;

/** grpc.health.v1.Health: SERVING while the database is reachable and the server is not shutting down. */
export class HealthEndpoint {
  readonly #health: Health;
  /** Known service names; the empty name means the whole server. */
  readonly #names: ReadonlySet<string>;
  /** Watchers and the status last sent to each. */
  readonly #watchers = new Map<WatchCall, ServingStatus>();
  /** Watchers of unknown services. */
  readonly #unknown = new Set<WatchCall>();
  readonly #closing = new AbortController();
  readonly #watchIntervalMs: number;
  #timer: NodeJS.Timeout | undefined;

  /** @param watchIntervalMs interval of the health check for watchers, ms */
  constructor(health: Health, services: Iterable<string>, watchIntervalMs: number) {
    this.#health = health;
    this.#watchIntervalMs = watchIntervalMs;
    this.#names = new Set(["", ...services]);
  }

  readonly check: handleUnaryCall<CheckRequest, CheckResponse> = async (call, respond) => {
    const { service } = call.request;
    if (!this.#names.has(service)) {
      respond({
        code: status.NOT_FOUND,
        details: `unknown service ${JSON.stringify(service.slice(0, 128))}`,
      });
      return;
    }
    respond(null, create(HealthCheckResponseSchema, { status: await this.#status() }));
  };

  readonly list: handleUnaryCall<ListRequest, ListResponse> = async (_call, respond) => {
    const serving = { status: await this.#status() };
    const statuses = Object.fromEntries([...this.#names].map((name) => [name, serving]));
    respond(null, create(HealthListResponseSchema, { statuses }));
  };

  /** Sends the status now and after each change. Services are fixed, so an unknown one stays unknown. */
  readonly watch: handleServerStreamingCall<CheckRequest, CheckResponse> = (call) => {
    call.once("cancelled", () => this.#removeWatcher(call));
    if (!this.#names.has(call.request.service)) {
      this.#unknown.add(call);
      call.write(create(HealthCheckResponseSchema, { status: ServingStatus.SERVICE_UNKNOWN }));
      return;
    }
    this.#watchers.set(call, ServingStatus.UNKNOWN);
    void this.#notifyWatchers();
    this.#timer ??= setInterval(() => void this.#notifyWatchers(), this.#watchIntervalMs).unref();
  };

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await this.#notifyWatchers();
    for (const call of [...this.#watchers.keys(), ...this.#unknown]) {
      call.end();
      this.#removeWatcher(call);
    }
  }

  async #notifyWatchers(): Promise<void> {
    const serving = await this.#status();
    for (const [call, sent] of this.#watchers) {
      if (sent === serving) continue;
      this.#watchers.set(call, serving);
      call.write(create(HealthCheckResponseSchema, { status: serving }));
    }
  }

  #removeWatcher(call: WatchCall): void {
    this.#watchers.delete(call);
    this.#unknown.delete(call);
    if (this.#watchers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #status(): Promise<ServingStatus> {
    const { signal } = this.#closing;
    if (signal.aborted) return ServingStatus.NOT_SERVING;
    const healthy = await this.#health.check(signal).catch(() => false);
    return healthy && !signal.aborted ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }
}
