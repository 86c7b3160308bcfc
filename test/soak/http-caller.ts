import { connect } from "node:net";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { postRequest } from "../bench/http-request.ts";

/** Keep-alive connections. */
const CONNECTIONS = 64;
/** Timeout of a call, ms. */
const PATIENCE_MS = 30_000;

/** An HTTP response. */
export interface HttpAnswer {
  readonly status: number;
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

  async post(
    path: string,
    apiKey: string,
    json: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpAnswer> {
    const { statusCode, body } = await this.#pool.request({
      path,
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(json),
    });
    return { status: statusCode, body: await body.text() };
  }

  async get(path: string, apiKey: string): Promise<HttpAnswer> {
    const headers = { authorization: `Bearer ${apiKey}` };
    const { statusCode, body } = await this.#pool.request({ path, method: "GET", headers });
    return { status: statusCode, body: await body.text() };
  }

  /** On a new connection. */
  async postAlone(path: string, apiKey: string, json: object): Promise<HttpAnswer> {
    const response = await fetch(`http://127.0.0.1:${this.#port}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", connection: "close" },
      body: JSON.stringify(json),
    });
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

function poolOf(port: number): Pool {
  return new Pool(`http://127.0.0.1:${port}`, {
    connections: CONNECTIONS,
    headersTimeout: PATIENCE_MS,
    bodyTimeout: PATIENCE_MS,
  });
}
