import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Client, type ClientReadableStream, status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  Health,
  type HealthCheckResponse,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthCheckResponseSchema,
} from "#gen/grpc/health/v1/health_pb.ts";
import { type Gateway, GRPC_SERVERS, startGateway } from "../gateway.ts";
import { callGrpc, failureOf, grpcClient } from "../grpc-client.ts";

const { NOT_SERVING, SERVICE_UNKNOWN, SERVING } = ServingStatus;

describe.each(GRPC_SERVERS)("grpc.health.v1 of the %s gRPC server", (_name, byLibrary) => {
  let gateway: Gateway;
  let client: Client;

  beforeEach(async () => {
    gateway = await startGateway({}, [], byLibrary);
    client = grpcClient(gateway.grpcAddress);
  });
  afterEach(async () => {
    client.close();
    await gateway.close();
  });

  function watch(service: string): {
    stream: ClientReadableStream<HealthCheckResponse>;
    next: () => Promise<ServingStatus | "end">;
  } {
    const stream = client.makeServerStreamRequest(
      "/grpc.health.v1.Health/Watch",
      (name: string) =>
        Buffer.from(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service: name }))),
      (bytes: Buffer) => fromBinary(HealthCheckResponseSchema, bytes),
      service,
    );
    const values: AsyncIterator<HealthCheckResponse> = stream[Symbol.asyncIterator]();
    return {
      stream,
      async next() {
        const { done, value } = await values.next();
        return done ? "end" : value.status;
      },
    };
  }

  it.each(["", "toolgate.v1.ToolService"])("reports the health of %j without a key", async (service) => {
    expect((await callGrpc(client, Health.method.check, { service })).message.status).toBe(SERVING);
    gateway.health.up = false;
    expect((await callGrpc(client, Health.method.check, { service })).message.status).toBe(NOT_SERVING);
  });

  it("returns NOT_FOUND for an unknown service", async () => {
    const error = await failureOf(callGrpc(client, Health.method.check, { service: "toolgate.v1.Nothing" }));
    expect(error.code).toBe(status.NOT_FOUND);
  });

  it("lists every service", async () => {
    const { statuses } = (await callGrpc(client, Health.method.list, {})).message;
    expect(Object.keys(statuses)).toContain("toolgate.v1.HealthService");
    expect(Object.values(statuses).every((one) => one.status === SERVING)).toBe(true);
  });

  it("sends watchers the status, each change and the end", async () => {
    const { next } = watch("");
    expect(await next()).toBe(SERVING);
    await expect.poll(() => gateway.health.checks).toBeGreaterThan(3);
    gateway.health.up = false;
    expect(await next()).toBe(NOT_SERVING);
    gateway.health.up = true;
    expect(await next()).toBe(SERVING);
    const closed = gateway.grpc.close(5000);
    expect(await next()).toBe(NOT_SERVING);
    expect(await next()).toBe("end");
    await closed;
  });

  it("sends SERVICE_UNKNOWN and keeps the stream", async () => {
    const { next, stream } = watch("toolgate.v1.Nothing");
    expect(await next()).toBe(SERVICE_UNKNOWN);
    expect(stream.readableEnded).toBe(false);
    const closed = gateway.grpc.close(5000);
    expect(await next()).toBe("end");
    await closed;
  });
});
