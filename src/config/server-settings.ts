import { z } from "zod";
import { between, integer } from "./setting-types.ts";

/** Where the servers listen. */
export const serverSettings = {
  HOST: z
    .string()
    .default("0.0.0.0")
    .meta({ description: "address that the servers listen on", unset: "`0.0.0.0`; `127.0.0.1` in dev" }),
  PORT: integer(0, 65535, 8080).describe("port of HTTP/JSON, MCP, Connect and gRPC-Web; 0 picks a free one"),
  GRPC_PORT: integer(0, 65535, 9090).describe("port of gRPC; 0 picks a free one"),
  METRICS_PORT: between(0, 65535)
    .optional()
    .describe("port of `GET /metrics` for Prometheus, without a key: keep it private; 0 picks a free one"),
  METRICS_HOST: z.string().default("127.0.0.1").describe("address that the metrics server listens on"),
  TLS_CERT: z
    .string()
    .optional()
    .describe("path of the PEM certificate, with its chain, of `PORT` and `GRPC_PORT`; read every 10 s"),
  TLS_KEY: z.string().optional().describe("path of its PEM key"),
  TLS_CLIENT_CA: z
    .string()
    .optional()
    .describe("path of PEM certificates: only clients with a certificate of these may connect"),
} as const;
