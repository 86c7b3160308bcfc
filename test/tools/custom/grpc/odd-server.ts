import { fromBinary, fromJson, toJson, type DescMethod, type DescService } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { ServerReflection } from "#gen/grpc/reflection/v1/reflection_pb.ts";
import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerUnaryCall,
} from "@grpc/grpc-js";
import { encode, pathOf, registerEncoded } from "../../../../src/transport/grpc/register.ts";
import { serverReflection } from "../../../../src/transport/grpc/reflection.ts";
import type { OddTypes } from "./odd-types.ts";
import { startRelay } from "./relay.ts";

export interface Seen {
  method: string;
  metadata: Metadata;
  /** Deadline, ms since 1970. */
  deadline: number;
  cancelled: boolean;
}

/** A gRPC server that echoes or fails as requested. */
export interface OddServer {
  /** Port of a relay in front of it. */
  port: number;
  seen: Seen[];
  connections(): number;
  cut(): void;
  close(): void;
}

export interface OddServerOptions {
  reflection?: "v1" | "v1alpha" | "none";
  credentials?: ServerCredentials;
}

type Call = ServerUnaryCall<Buffer, Buffer>;

export async function startOddServer(types: OddTypes, options: OddServerOptions = {}): Promise<OddServer> {
  const { reflection = "v1", credentials = ServerCredentials.createInsecure() } = options;
  const service = types.registry.getService("odd.v1.OddService");
  if (!service) throw new Error("there is no OddService");
  const server = new Server({ "grpc.enable_channelz": 0 });
  const seen: Seen[] = [];
  for (const method of service.methods) {
    const same = (bytes: Buffer) => bytes;
    const handler = (call: Call, respond: sendUnaryData<Buffer>) => {
      const { metadata } = call;
      const one = { method: method.name, metadata, deadline: Number(call.getDeadline()), cancelled: false };
      seen.push(one);
      call.on("cancelled", () => (one.cancelled = true));
      call.sendMetadata(metadataOf({ "x-units": "3" }));
      answer(method, types, call.request, respond);
    };
    server.register<Buffer, Buffer>(pathOf(method), handler, same, same, "unary");
  }
  if (reflection === "v1")
    registerEncoded(server, ServerReflection.method.serverReflectionInfo, serverReflection([service]));
  if (reflection === "v1alpha") registerEncoded(server, olderMethod(), serverReflection([service]));
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  const relay = await startRelay(port);
  return {
    port: relay.port,
    seen,
    connections: () => relay.made(),
    cut: () => relay.cut(),
    close() {
      relay.close();
      server.forceShutdown();
    },
  };
}

/** The older reflection service: the same messages under another name. */
function olderMethod(): typeof ServerReflection.method.serverReflectionInfo {
  const method = ServerReflection.method.serverReflectionInfo;
  const parent: DescService = { ...method.parent, typeName: "grpc.reflection.v1alpha.ServerReflection" };
  return { ...method, parent };
}

function answer(method: DescMethod, types: OddTypes, request: Buffer, respond: sendUnaryData<Buffer>): void {
  if (method.name !== "Perform") return respond(null, request);
  const { what, code } = toJson(method.input, fromBinary(method.input, request)) as {
    what: string;
    code: number;
  };
  const type = types.message("Acted");
  const acted = (json: { text?: string; any?: { "@type": string; what: string } }) =>
    respond(null, encode(type, fromJson(type, json, { registry: types.registry })));
  switch (what) {
    case "wait":
      return;
    case "refuse":
      return respond({ code, details: "the reason why" });
    case "busy":
      return respond({ code: status.RESOURCE_EXHAUSTED, details: "the reason why", metadata: retryInfo(7) });
    case "flood":
      return acted({ text: "x".repeat(200_000) });
    case "garbage":
      return respond(null, Buffer.from([0xff, 0xff, 0xff]));
    case "known":
      return acted({ any: { "@type": "type.googleapis.com/odd.v1.Act", what: "inside" } });
    case "unknown":
      // any.type_url = "x/no.such.Type"
      return respond(null, Buffer.from([0x12, 0x10, 0x0a, 0x0e, ...Buffer.from("x/no.such.Type")]));
    case "metered":
      return respond(
        null,
        encode(type, fromJson(type, { text: what }, { registry: types.registry })),
        metadataOf({ "x-units": "4" }),
      );
    default:
      return acted({ text: what });
  }
}

function metadataOf(values: Record<string, string>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(values)) metadata.set(name, value);
  return metadata;
}

/** Trailers with google.rpc.RetryInfo. */
function retryInfo(seconds: number): Metadata {
  const details = new BinaryWriter()
    .tag(1, WireType.Varint)
    .int32(status.RESOURCE_EXHAUSTED)
    .tag(3, WireType.LengthDelimited)
    .fork()
    .tag(1, WireType.LengthDelimited)
    .string("type.googleapis.com/google.rpc.RetryInfo")
    .tag(2, WireType.LengthDelimited)
    .bytes(
      new BinaryWriter()
        .tag(1, WireType.LengthDelimited)
        .fork()
        .tag(1, WireType.Varint)
        .int64(seconds)
        .join()
        .finish(),
    )
    .join()
    .finish();
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from(details));
  return metadata;
}
