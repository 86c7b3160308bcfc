import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { create, fromBinary, toBinary, type JsonObject } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import { Pool } from "undici";
import { CallToolRequestSchema, CallToolResponseSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import { asIs, CALL_TOOL_PATH } from "../bench/grpc-call.ts";
import { postRequest } from "../bench/http-request.ts";

/** Timeout of a call, ms. */
const PATIENCE_MS = 30_000;
const HTTP_CONNECTIONS = 64;
const GRPC_CONNECTIONS = 4;

/** A response, with its HTTP status or the name of its google.rpc.Code. */
export interface Answer {
  readonly status: number | string;
  readonly body: string;
}

/** Sends calls over HTTP: on keep-alive connections, on new ones, and without waiting for the response. */
export class HttpCaller {
  readonly #port: number;
  #pool: Pool;

  constructor(port: number) {
    this.#port = port;
    this.#pool = poolOf(port);
  }

  /** @param json of a POST; undefined: a GET */
  async send(
    path: string,
    apiKey: string,
    json?: object,
    more: Record<string, string> = {},
  ): Promise<Answer> {
    const post = json && { body: JSON.stringify(json), headers: { "content-type": "application/json" } };
    const headers = { authorization: `Bearer ${apiKey}`, ...post?.headers, ...more };
    const method = json ? "POST" : "GET";
    const { statusCode, body } = await this.#pool.request({ path, ...post, method, headers });
    return { status: statusCode, body: await body.text() };
  }

  /** On a new connection. */
  async postAlone(path: string, apiKey: string, json: object): Promise<Answer> {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
      connection: "close",
    };
    const asked = { method: "POST", headers, body: JSON.stringify(json) };
    const response = await fetch(`http://127.0.0.1:${this.#port}${path}`, asked);
    return { status: response.status, body: await response.text() };
  }

  /** Sends all or half of a request and leaves so soon that a response is uncertain. */
  async leave(path: string, apiKey: string, json: object, afterMs: number, half: boolean): Promise<void> {
    const socket = connect({ host: "127.0.0.1", port: this.#port });
    // The server may close it first.
    socket.on("error", () => {});
    await once(socket, "connect");
    const request = postRequest(path, apiKey, json);
    socket.write(half ? request.slice(0, -5) : request);
    await sleep(afterMs);
    socket.resetAndDestroy();
  }

  async hangUp(): Promise<void> {
    const pool = this.#pool;
    this.#pool = poolOf(this.#port);
    await pool.close();
  }
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
  call(apiKey: string, tool: string, params: JsonObject, leaveAfterMs?: number): Promise<Answer> {
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${apiKey}`);
    const message = Buffer.from(
      toBinary(CallToolRequestSchema, create(CallToolRequestSchema, { tool, params })),
    );
    const options = { deadline: Date.now() + PATIENCE_MS };
    const client = this.#next();
    return new Promise((resolve) => {
      const call = client.makeUnaryRequest(
        CALL_TOOL_PATH,
        asIs,
        asIs,
        message,
        metadata,
        options,
        (error, answer) => {
          if (error) resolve({ status: status[error.code], body: error.details });
          else
            resolve({ status: "OK", body: `ok: ${answer && fromBinary(CallToolResponseSchema, answer).ok}` });
        },
      );
      if (leaveAfterMs !== undefined) setTimeout(() => call.cancel(), leaveAfterMs);
    });
  }

  hangUp(): void {
    for (const client of this.#clients.splice(0)) client.close();
  }

  #next(): Client {
    // Without separate pools, channels to one address share a connection.
    const options = { "grpc.use_local_subchannel_pool": 1 };
    const at = this.#turn++ % GRPC_CONNECTIONS;
    return (this.#clients[at] ??= new Client(
      `127.0.0.1:${this.#port}`,
      credentials.createInsecure(),
      options,
    ));
  }
}

function poolOf(port: number): Pool {
  const limits = { headersTimeout: PATIENCE_MS, bodyTimeout: PATIENCE_MS };
  return new Pool(`http://127.0.0.1:${port}`, { connections: HTTP_CONNECTIONS, ...limits });
}
