import { once } from "node:events";
import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { type Gateway, GRPC_SERVERS, startGateway } from "../gateway.ts";
import { callGrpc, failureOf, grpcClient } from "../grpc-client.ts";

const { callTool } = ToolService.method;
const wait = { tool: "wait", params: {} };

describe.each(GRPC_SERVERS)("the %s gRPC server, closing", (_name, byLibrary) => {
  let gateway: Gateway;
  let metadata: { authorization: string };

  beforeEach(async () => {
    gateway = await startGateway({}, [], byLibrary);
    metadata = { authorization: gateway.key().authorization };
  });
  afterEach(() => gateway.close());

  it("finishes running calls and rejects new ones", async () => {
    const client = grpcClient(gateway.grpcAddress);
    const running = callGrpc(client, callTool, wait, { metadata });
    await once(gateway.tools.events, "started");
    let closed = false;
    const closing = gateway.grpc.close(60_000).then(() => (closed = true));
    const late = grpcClient(gateway.grpcAddress);
    expect((await failureOf(callGrpc(late, callTool, wait, { metadata }))).code).toBe(status.UNAVAILABLE);
    expect(closed).toBe(false);
    gateway.tools.events.emit("release");
    expect((await running).message.result).toEqual({ waited: true });
    await closing;
    client.close();
    late.close();
  });

  it("ends running calls after the grace period", async () => {
    const client = grpcClient(gateway.grpcAddress);
    const running = failureOf(callGrpc(client, callTool, wait, { metadata }));
    const [signal] = (await once(gateway.tools.events, "started")) as [AbortSignal];
    await gateway.grpc.close(50);
    expect([status.UNAVAILABLE, status.CANCELLED]).toContain((await running).code);
    if (!signal.aborted) await once(signal, "abort");
    client.close();
  });

  it("can be closed twice", async () => {
    await gateway.grpc.close(1000);
    await expect(gateway.grpc.close(1000)).resolves.toBeUndefined();
  });
});
