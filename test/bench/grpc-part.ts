import { create, toBinary } from "@bufbuild/protobuf";
import { CallToolRequestSchema, CallToolResponseSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { Bench } from "./bench.ts";
import { compare, loaded } from "./measure.ts";
import { cpuLine, throughputLine, type Line } from "./report.ts";

const STREAMS = 64;
const PEER = "grpc-js, bytes";

/** Compares a free gRPC call with a minimal server that returns the same bytes. */
export async function grpcEcho(bench: Bench): Promise<Line[]> {
  const { world, gateway, plan, signal } = bench;
  const request = create(CallToolRequestSchema, { tool: "echo", params: { message: "hello, gateway" } });
  const response = create(CallToolResponseSchema, { ok: true, result: { echo: "hello, gateway" } });
  const answer = base64(toBinary(CallToolResponseSchema, response));
  const keys = await world.createAccounts(1);
  const peer = await bench.peer("test/bench/grpc-peer/main.ts", { args: [answer] });
  const load = bench.load("grpc");
  const side = (server: typeof gateway.server, port: number) =>
    loaded(
      load,
      server,
      {
        host: "127.0.0.1",
        port,
        connections: STREAMS,
        requests: keys.map((key) => `Bearer ${key}`),
        message: base64(toBinary(CallToolRequestSchema, request)),
        expect: { status: 0, body: answer },
      },
      plan,
      signal,
    );
  const comparison = await compare(
    side(gateway.server, gateway.grpcPort),
    side(peer.server, peer.port),
    plan,
  );
  return [
    ...cpuLine("gRPC echo", comparison, PEER, 1.5),
    throughputLine("gRPC echo", comparison, PEER, 0.65),
  ];
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
