import { healthServiceRoutes } from "#gen/toolgate/v1/health_service_http.ts";
import { toolServiceRoutes } from "#gen/toolgate/v1/tool_service_http.ts";
import { createTranscoder } from "#httpjson/runtime/index.ts";
import { testRequestIds } from "./test-request-ids.ts";
import { DocumentHandler } from "../../src/transport/documents/document-handler.ts";
import { OriginPolicy } from "../../src/transport/http/origin-policy.ts";
import type { ConnectionLimits } from "../../src/transport/http/connection-limits.ts";
import { Cors } from "../../src/transport/http/cors.ts";
import { JsonHandler } from "../../src/transport/http/json-handler.ts";
import { Probes } from "../../src/transport/http/probes.ts";
import { JsonRoutes } from "../../src/transport/http/json-routes.ts";
import { HttpServer } from "../../src/transport/http/connections.ts";
import { McpHandler } from "../../src/transport/mcp/mcp-handler.ts";
import { ModelApiHandler } from "../../src/transport/model-api/model-api-handler.ts";
import { OPENAI_API } from "../../src/transport/openai/openai-api.ts";
import { afterAll, beforeAll } from "vitest";
import { BODY_LIMIT, type Gateway } from "./gateway.ts";

/** Size of the document at `/large`: more than the system buffers. */
const LARGE = 16 * 1024 * 1024;

/** An HTTP/1.1 server for a test gateway, without the console. */
export async function openHttpServer(
  { pipeline, catalogue, connect }: Gateway,
  limits: Partial<ConnectionLimits>,
) {
  const requestIds = testRequestIds();
  const routes = new JsonRoutes({
    pipeline,
    transcoder: createTranscoder([toolServiceRoutes, healthServiceRoutes]),
    requestIds,
    bodyLimit: BODY_LIMIT,
  });
  const { requests, time } = pipeline;
  const originPolicy = new OriginPolicy({ host: "127.0.0.1", publicUrl: undefined, origins: [] });
  const mcp = new McpHandler({ routes, pipeline, catalogue, originPolicy });
  const large = { path: "/large", mediaType: "text/plain", maxAgeSeconds: 0, text: () => "x".repeat(LARGE) };
  const failed = () => ({ status: 405 });
  const ready = {
    ready: true,
    database: "ok",
    sandbox: "off",
    draining: false,
    clock: { ok: true, ahead_seconds: 0 },
    config: { version: 0, newest: 0 },
  } as const;
  const server = new HttpServer(
    {
      handlers: [
        new DocumentHandler({ documents: [large], requestIds, failed, requests, time }),
        new Probes({ report: async () => ready }, requests),
        new Cors([], { path: "/mcp", policy: originPolicy }, requests),
        connect,
        new ModelApiHandler({ routes, pipeline, catalogue, clock: { now: () => Date.now() } }, OPENAI_API),
        mcp,
        new JsonHandler(routes, pipeline, { byName: () => new Map() }),
      ],
      routes,
    },
    limits,
  );
  return { server, port: await server.listen("127.0.0.1", 0) };
}

/** The HTTP/1.1 server of a file or a `describe`. */
export function useHttpServer(gateway: Gateway, limits: Partial<ConnectionLimits> = {}) {
  const opened = {} as Awaited<ReturnType<typeof openHttpServer>>;
  beforeAll(async () => void Object.assign(opened, await openHttpServer(gateway, limits)));
  afterAll(async () => {
    opened.server.destroy();
    await opened.server.close();
  });
  return opened;
}

export function postText(path: string, authorization: string, message: object): string {
  const body = JSON.stringify(message);
  return `${postHead(path, authorization, `Content-Length: ${Buffer.byteLength(body)}`)}${body}`;
}

export function postHead(path: string, authorization: string, ...more: string[]): string {
  return [
    `POST ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    `Authorization: ${authorization}`,
    "Content-Type: application/json",
    ...more,
    "",
    "",
  ].join("\r\n");
}
