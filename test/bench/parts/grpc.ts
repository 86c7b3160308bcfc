import { create, toBinary } from "@bufbuild/protobuf";
import { CallToolRequestSchema, CallToolResponseSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { Part, Target } from "../bench.ts";
import { FREE_CALL } from "../http-request.ts";
import { compare, loaded } from "../measure.ts";
import { line } from "../report.ts";

/** A free call over gRPC, and a minimal server that returns the same bytes. */
export const grpc: Part = {
  name: "grpc",
  title: "3. free call, gRPC",
  why: "Services that call by gRPC",
  async run(bench) {
    const [key = ""] = await bench.world.createAccounts(1);
    const response = create(CallToolResponseSchema, { ok: true, result: { echo: FREE_CALL.params.message } });
    const answer = base64(toBinary(CallToolResponseSchema, response));
    const gateway = await bench.serve();
    const peer = await bench.peer("grpc", answer);
    const load = bench.load("grpc");
    const job = {
      ...{ connections: 64, requests: [`Bearer ${key}`], expect: { status: 0, body: answer } },
      message: base64(toBinary(CallToolRequestSchema, create(CallToolRequestSchema, FREE_CALL))),
    };
    const side = (target: Target) => loaded([{ ...target, load }], job, bench);
    const ours = side({ server: gateway.server, port: gateway.grpcPort });
    const rounds = await compare(ours, side(peer), bench.plan);
    return [line("CPU, throughput", rounds, "grpc-js, bytes", ["cpuMicros", "perSecond"])];
  },
};

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
