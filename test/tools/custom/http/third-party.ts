import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { LookupFunction } from "node:net";
import os from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { customToolsSchema } from "../../../../src/tools/custom/config.ts";
import { HttpBackend } from "../../../../src/tools/custom/http/http-backend.ts";
import { resolveCustomTools, type CustomToolSettings } from "../../../../src/tools/custom/settings.ts";
import { closeServer, listen } from "../../../support/servers.ts";

export interface Received {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage["headers"];
  body: string;
}

/** A third-party HTTP server with scripted behaviour. */
export interface ThirdParty {
  readonly url: string;
  readonly received: Received[];
  connections: number;
  /** Behaviour of the next requests. */
  answer: (response: ServerResponse, request: Received) => void;
  close(): Promise<void>;
}

/** Listens on 127.0.0.1, by default on a free port. */
export async function startThirdParty(port = 0): Promise<ThirdParty> {
  const server = createServer((request, response) => void handle(request, response));
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url, headers } = request;
    const received = { method, url, headers, body: await text(request) };
    party.received.push(received);
    party.answer(response, received);
  }
  server.on("connection", () => party.connections++);
  const party: ThirdParty = {
    url: `http://127.0.0.1:${await listen(server, port)}`,
    received: [],
    connections: 0,
    answer: (response) => json(response, 200, { fine: true }),
    close: () => closeServer(server),
  };
  return party;
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
}

export function openapi(paths: object, more: object = {}): object {
  return { openapi: "3.1.0", info: { title: "test", version: "1" }, paths, ...more };
}

export function operation(operationId: string, more: object = {}): object {
  const responses = { 200: { description: "fine", content: { "application/json": {} } } };
  return { operationId, responses, ...more };
}

/** A temporary folder, deleted on dispose. */
export function documentFolder(): Disposable & { write(name: string, content: object | string): string } {
  const folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-custom-tools-"));
  return {
    write(name, content) {
      const file = path.join(folder, name);
      writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
      return file;
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Settings of one tool from configuration text. */
export function settingsOf(entry: object, env: Record<string, string> = {}): CustomToolSettings {
  const section = customToolsSchema.parse([{ name: "t", price: { flat_microusd: 10 }, ...entry }]);
  const { tools, problems } = resolveCustomTools(section, { env, folder: "/", reservedNames: [] });
  const [tool] = tools;
  if (!tool || problems.length > 0) throw new Error(problems.join("\n"));
  return tool;
}

/** A backend for the operation `op`. This machine is allowed by default. */
export async function backendOf(
  file: string,
  serverUrl: string,
  {
    lookup,
    env,
    ...entry
  }: { lookup?: LookupFunction; env?: Record<string, string>; [member: string]: unknown } = {},
): Promise<HttpBackend> {
  const http = { openapi: file, operation_id: "op", server_url: serverUrl };
  const { guard, target, ...settings } = settingsOf({ allow_hosts: ["127.0.0.1"], http, ...entry }, env);
  if (target.kind !== "http") throw new Error("is for HTTP");
  const backend = new HttpBackend({
    ...settings,
    tool: settings.name,
    section: target.section,
    guard: { ...guard, ...(lookup && { lookup }) },
  });
  await backend.describe(AbortSignal.timeout(60_000));
  return backend;
}

export const CALL = { signal: new AbortController().signal, idempotencyKey: "claim_1" };
