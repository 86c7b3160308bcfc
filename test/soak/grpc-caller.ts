import { create, fromBinary, toBinary, type JsonObject } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, status, type ServiceError } from "@grpc/grpc-js";
import {
  CallToolRequestSchema,
  CallToolResponseSchema,
  type CallToolResponse,
} from "#gen/toolgate/v1/tool_service_pb.ts";
import { asIs, CALL_TOOL_PATH } from "../bench/grpc-call.ts";

/** Connections that share the calls. */
const CONNECTIONS = 4;
/** Timeout of a call, ms. */
const PATIENCE_MS = 30_000;

/** A gRPC response. */
export interface GrpcAnswer {
  /** Name of the google.rpc.Code. */
  readonly code: string;
  readonly message: string;
  readonly response: CallToolResponse | undefined;
}

/** Sends calls over gRPC. */
export class GrpcCaller {
  readonly #port: number;
  #clients: Client[] = [];
  #turn = 0;

  constructor(port: number) {
    this.#port = port;
  }

  /** @param leaveAfterMs leaves after this time, answered or not */
  call(apiKey: string, tool: string, params: JsonObject, leaveAfterMs?: number): Promise<GrpcAnswer> {
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${apiKey}`);
    const message = Buffer.from(
      toBinary(CallToolRequestSchema, create(CallToolRequestSchema, { tool, params })),
    );
    return new Promise((resolve) => {
      const call = this.#next().makeUnaryRequest(
        CALL_TOOL_PATH,
        asIs,
        asIs,
        message,
        metadata,
        { deadline: Date.now() + PATIENCE_MS },
        (error, answer) => resolve(answerOf(error, answer)),
      );
      if (leaveAfterMs !== undefined) setTimeout(() => call.cancel(), leaveAfterMs);
    });
  }

  hangUp(): void {
    for (const client of this.#clients.splice(0)) client.close();
  }

  #next(): Client {
    if (this.#clients.length === 0)
      this.#clients = Array.from({ length: CONNECTIONS }, () => this.#connect());
    this.#turn = (this.#turn + 1) % CONNECTIONS;
    const client = this.#clients[this.#turn];
    if (!client) throw new Error("there is no connection");
    return client;
  }

  #connect(): Client {
    // Without separate pools, channels to one address share a connection.
    return new Client(`127.0.0.1:${this.#port}`, credentials.createInsecure(), {
      "grpc.use_local_subchannel_pool": 1,
    });
  }
}

function answerOf(error: ServiceError | null, answer: Buffer | undefined): GrpcAnswer {
  if (error) return { code: status[error.code], message: error.details, response: undefined };
  const response = answer && fromBinary(CallToolResponseSchema, answer);
  return { code: "OK", message: "", response };
}
